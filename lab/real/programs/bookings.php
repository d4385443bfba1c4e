<?php
// The box office in front of PostgreSQL: /shows/<n>, /book/<n>, /letters/<n> (what is to be sent next).
[$kind, $number] = array_slice([...explode('/', trim($_SERVER['REQUEST_URI'], '/')), '0'], 0, 2);
$number = (int) $number;

function fetch_rows(PDO $database, string $statement, array $values): array {
    $query = $database->prepare($statement);
    $query->execute($values);
    return $query->columnCount() ? $query->fetchAll(PDO::FETCH_NUM) : [];
}

$show = $number % (int) getenv('PRODUCTS');
$customer = $number % (int) getenv('CUSTOMERS');
header('Content-Type: application/json');
try {
    $database = new PDO(getenv('DATABASE_DSN'), 'web', '', [
        PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
        PDO::ATTR_PERSISTENT => true,
        PDO::ATTR_EMULATE_PREPARES => true,
    ]);
    switch ($kind) {
        case 'book':
            $database->beginTransaction();
            fetch_rows($database, 'UPDATE stock SET reserved = reserved + 1 WHERE product_id = ?', [$show]);
            fetch_rows($database, "INSERT INTO orders (customer_id, product_id, amount, status, note) VALUES (?, ?, ?, 'new', repeat(md5(?), 2))", [$customer, $show, $number % 990, (string) $number]);
            $database->commit();
            $rows = [];
            break;
        case 'letters':
            $rows = fetch_rows($database, 'SELECT id, booking, body FROM outbox ORDER BY id LIMIT 5', []);
            break;
        default:
            $rows = fetch_rows($database, 'SELECT p.sku, p.name, p.price, s.available - s.reserved FROM products p JOIN stock s ON s.product_id = p.id WHERE p.id BETWEEN ? AND ?', [$show, $show + 12]);
    }
    echo json_encode($rows);
} catch (PDOException $error) {
    http_response_code(500);
}
