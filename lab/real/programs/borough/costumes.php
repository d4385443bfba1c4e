<?php
// Costumes for hire in MariaDB: ?page=returns&n=<n> takes a costume back, ?page=bookings&n=<n> hires one,
// ?page=hires&n=<n> lists those of a customer, ?page=sizes&n=<n> needs no rows.
// Environment: DATABASE_DSN, CUSTOMERS, COSTUMES, HIRES (how many there were at first), ROUNDS (what sizes cost).
$page = $_GET['page'] ?? 'sizes';
$number = (int) ($_GET['n'] ?? 0);
$answer = ['page' => $page];
try {
    if ($page !== 'sizes') {
        $database = new PDO(getenv('DATABASE_DSN'), 'shop', 'shop', [
            PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
            PDO::ATTR_PERSISTENT => true,
        ]);
    }
    if ($page === 'returns') {
        $query = $database->prepare('UPDATE hires SET returned = returned + 1 WHERE id = ?');
        $query->execute([1 + $number * 7919 % (int) getenv('HIRES')]);
        $answer['rows'] = $query->rowCount();
    } elseif ($page === 'bookings') {
        $query = $database->prepare('INSERT INTO hires (customer, costume, day, cents, returned) VALUES (?, ?, now(), 900, 0)');
        $query->execute([$number % (int) getenv('CUSTOMERS'), $number % (int) getenv('COSTUMES')]);
        $answer['hire'] = $database->lastInsertId();
    } elseif ($page === 'hires') {
        $query = $database->prepare('SELECT id, costume, day, cents FROM hires WHERE customer = ? ORDER BY id DESC LIMIT 20');
        $query->execute([$number % (int) getenv('CUSTOMERS')]);
        $answer['hires'] = $query->fetchAll(PDO::FETCH_ASSOC);
    } else {
        $answer['size'] = hash_pbkdf2('sha256', "size $number", 'hat', (int) getenv('ROUNDS'));
    }
} catch (PDOException) {
    http_response_code(503);
}
header('Content-Type: application/json');
echo json_encode($answer);
