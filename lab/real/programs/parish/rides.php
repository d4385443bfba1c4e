<?php
// Rides of a taxi company in MariaDB: ?page=arrivals&n=<n> ends a ride, ?page=orders&n=<n> orders one,
// ?page=rides&n=<n> lists rides of a driver, ?page=fares&n=<n> needs no rows.
// Environment: DATABASE_DSN, DRIVERS, CUSTOMERS, RIDES (how many there were at first), ROUNDS (what a fare costs).
$page = $_GET['page'] ?? 'fares';
$number = (int) ($_GET['n'] ?? 0);
$answer = ['page' => $page];
try {
    if ($page !== 'fares') {
        $database = new PDO(getenv('DATABASE_DSN'), 'shop', 'shop', [
            PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
            PDO::ATTR_PERSISTENT => true,
        ]);
    }
    if ($page === 'arrivals') {
        $query = $database->prepare('UPDATE rides SET meters = meters + 1, cents = cents + 2, ended = 1 WHERE id = ?');
        $query->execute([1 + $number * 7919 % (int) getenv('RIDES')]);
        $answer['rows'] = $query->rowCount();
    } elseif ($page === 'orders') {
        $query = $database->prepare('INSERT INTO rides (driver, customer, meters, cents, ended) VALUES (?, ?, 0, 390, 0)');
        $query->execute([$number % (int) getenv('DRIVERS'), $number % (int) getenv('CUSTOMERS')]);
        $answer['ride'] = $database->lastInsertId();
    } elseif ($page === 'rides') {
        $query = $database->prepare('SELECT id, meters, cents FROM rides WHERE driver = ? ORDER BY id DESC LIMIT 20');
        $query->execute([$number % (int) getenv('DRIVERS')]);
        $answer['rides'] = $query->fetchAll(PDO::FETCH_ASSOC);
    } else {
        $answer['fare'] = hash_pbkdf2('sha256', "fare $number", 'rank', (int) getenv('ROUNDS'));
    }
} catch (PDOException) {
    http_response_code(503);
}
header('Content-Type: application/json');
echo json_encode($answer);
