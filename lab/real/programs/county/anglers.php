<?php
// Licenses of anglers in MariaDB: ?page=licenses&n=<n> reads those of an angler, ?page=waters&n=<n> needs no rows.
// Environment: DATABASE_DSN, ANGLERS, ROUNDS (what a page costs).
$page = $_GET['page'] ?? 'waters';
$number = (int) ($_GET['n'] ?? 0);
$answer = ['page' => $page, 'seal' => hash_pbkdf2('sha256', "$page $number", 'hook', (int) getenv('ROUNDS'))];
if ($page === 'licenses') {
    try {
        $database = new PDO(getenv('DATABASE_DSN'), 'shop', 'shop', [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
        $query = $database->prepare('SELECT id, water, year FROM licenses WHERE angler = ? ORDER BY year DESC LIMIT 12');
        $query->execute([$number % (int) getenv('ANGLERS')]);
        $answer['licenses'] = $query->fetchAll(PDO::FETCH_ASSOC);
    } catch (PDOException) {
        http_response_code(503);
    }
}
header('Content-Type: application/json');
echo json_encode($answer);
