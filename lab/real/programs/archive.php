<?php
// The archive of a library in front of PostgreSQL: /documents/<n>, /shelves/<n>, /loans/<n>.
// DOCUMENTS, PRODUCTS and CUSTOMERS are numbers of rows.
[$kind, $number] = array_slice([...explode('/', trim($_SERVER['REQUEST_URI'], '/')), '0'], 0, 2);
$number = (int) $number;

function fetch_rows(PDO $database, string $statement, array $values): array {
    $query = $database->prepare($statement);
    $query->execute($values);
    return $query->columnCount() ? $query->fetchAll(PDO::FETCH_NUM) : [];
}

$shelf = $number % (int) getenv('PRODUCTS');
header('Content-Type: application/json');
try {
    $database = new PDO(getenv('DATABASE_DSN'), 'web', '', [
        PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
        PDO::ATTR_PERSISTENT => true,
        PDO::ATTR_EMULATE_PREPARES => true,
    ]);
    switch ($kind) {
        case 'documents':
            $document = $number % (int) getenv('DOCUMENTS') + 1;
            $rows = fetch_rows($database, 'SELECT id, status, note FROM orders WHERE id = ?', [$document]);
            break;
        case 'loans':
            $database->beginTransaction();
            fetch_rows($database, 'UPDATE stock SET reserved = reserved + 1 WHERE product_id = ?', [$shelf]);
            fetch_rows($database, "INSERT INTO orders (customer_id, product_id, amount, status, note) VALUES (?, ?, 1, 'lent', md5(?))", [$number % (int) getenv('CUSTOMERS'), $shelf, (string) $number]);
            $database->commit();
            $rows = [];
            break;
        default:
            $rows = fetch_rows($database, 'SELECT p.sku, p.name, s.available - s.reserved FROM products p JOIN stock s ON s.product_id = p.id WHERE p.id BETWEEN ? AND ?', [$shelf, $shelf + 12]);
    }
    echo json_encode($rows);
} catch (PDOException $error) {
    error_log("archive: $kind: " . $error->getMessage());
    http_response_code(500);
}
