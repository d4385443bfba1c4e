<?php
// Rounds of a dairy: /deliveries/<n> books a delivery, /rounds/<n> lists what a customer got, /prices/<n> is known here.
declare(strict_types=1);

[, $page, $number] = [...explode('/', (string) parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH)), '', ''];
$number = (int) $number;
header('Content-Type: application/json');

if ($page === 'prices') {
    $seal = (string) $number;
    for ($i = 0; $i < (int) getenv('ROUNDS'); $i++) {
        $seal = hash('sha256', $seal);
    }
    exit(json_encode(['price' => $number % 997, 'seal' => $seal]));
}
$options = [PDO::ATTR_PERSISTENT => true, PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION];
$database = new PDO(getenv('DATABASE_DSN'), 'shop', 'shop', $options);
$customer = $number % (int) getenv('CUSTOMERS');
if ($page === 'deliveries') {
    $insert = $database->prepare(
        "INSERT INTO orders (customer_id, product_id, amount, status, note) VALUES (?, ?, ?, 'open', ?)"
    );
    $insert->execute([$customer, $number % (int) getenv('PRODUCTS'), $number % 40, str_repeat('milk ', 12)]);
    exit(json_encode(['delivery' => $database->lastInsertId()]));
}
$select = $database->prepare('SELECT id, amount, status FROM orders WHERE customer_id = ? ORDER BY id DESC LIMIT 20');
$select->execute([$customer]);
echo json_encode($select->fetchAll(PDO::FETCH_NUM));
