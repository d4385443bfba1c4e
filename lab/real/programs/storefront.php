<?php
// The shop in front of MariaDB: /products/<n>, /orders/<n>, /checkout/<n>.
[$kind, $number] = array_slice([...explode('/', trim($_SERVER['REQUEST_URI'], '/')), '0'], 0, 2);
$number = (int) $number;

function open_database(): PDO {
    return new PDO(getenv('DATABASE_DSN'), 'shop', 'shop', [
        PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
        PDO::ATTR_TIMEOUT => 10,
        PDO::ATTR_PERSISTENT => getenv('DATABASE_PERSISTENT') === '1',
    ]);
}

function fetch_rows(PDO $database, string $statement, array $values): array {
    $query = $database->prepare($statement);
    $query->execute($values);
    return $query->columnCount() ? $query->fetchAll(PDO::FETCH_NUM) : [];
}

$product = $number % (int) getenv('PRODUCTS');
$customer = $number % (int) getenv('CUSTOMERS');
header('Content-Type: application/json');
try {
    $database = open_database();
    switch ($kind) {
        case 'orders':
            $rows = fetch_rows($database, 'SELECT id, product_id, amount, status FROM orders WHERE customer_id = ? ORDER BY created_at DESC LIMIT 20', [$customer]);
            break;
        case 'checkout':
            $database->beginTransaction();
            fetch_rows($database, 'UPDATE stock SET reserved = reserved + 1 WHERE product_id = ?', [$product]);
            fetch_rows($database, "INSERT INTO orders (customer_id, product_id, amount, status, note) VALUES (?, ?, ?, 'new', repeat(md5(?), ?))", [$customer, $product, $number % 990, $number, (int) getenv('NOTE_WORDS')]);
            $database->commit();
            $rows = [];
            break;
        default:
            $rows = fetch_rows($database, 'SELECT p.sku, p.name, p.price, s.available - s.reserved FROM products p JOIN stock s ON s.product_id = p.id WHERE p.id BETWEEN ? AND ?', [$product, $product + 12]);
    }
    echo json_encode($rows);
} catch (PDOException $error) {
    error_log("storefront: $kind: " . $error->getMessage());
    http_response_code(500);
}
