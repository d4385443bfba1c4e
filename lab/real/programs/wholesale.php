<?php
// A wholesale shop in front of PostgreSQL: /baskets/<n> saves a basket anew, /prices/<n> reads, /terms/<n> needs no rows.
[$kind, $number] = array_slice([...explode('/', trim($_SERVER['REQUEST_URI'], '/')), '0'], 0, 2);
$number = (int) $number;

function fetch_rows(PDO $database, string $statement, array $values): array {
    $query = $database->prepare($statement);
    $query->execute($values);
    return $query->columnCount() ? $query->fetchAll(PDO::FETCH_NUM) : [];
}

$basket = $number % (int) getenv('BASKETS');
$product = $number % (int) getenv('PRODUCTS');
header('Content-Type: application/json');
if ($kind === 'terms') {
    echo json_encode(['terms' => hash_pbkdf2('sha256', "terms $number", 'wholesale', 1500)]);
    exit;
}
try {
    $database = new PDO(getenv('DATABASE_DSN'), 'web', getenv('DATABASE_WORD') ?: '', [
        PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
        PDO::ATTR_PERSISTENT => getenv('KEPT') === '1',
        PDO::ATTR_EMULATE_PREPARES => true,
    ]);
    if ($kind === 'baskets') {
        $database->beginTransaction();
        fetch_rows($database, 'DELETE FROM baskets WHERE id = ?', [$basket]);
        fetch_rows($database, 'INSERT INTO baskets (id, customer) VALUES (?, ?) ON CONFLICT DO NOTHING', [$basket, $number % 991]);
        fetch_rows($database, 'INSERT INTO basket_lines (basket_id, product_id, amount, note) SELECT ?, (? + i) % ?, i, md5(i::text) FROM generate_series(1, 4) i', [$basket, $product, (int) getenv('PRODUCTS')]);
        $database->commit();
        $rows = [];
    } else {
        $rows = fetch_rows($database, 'SELECT p.sku, p.name, p.price, s.available - s.reserved FROM products p JOIN stock s ON s.product_id = p.id WHERE p.id BETWEEN ? AND ?', [$product, $product + 12]);
    }
    echo json_encode($rows);
} catch (PDOException $error) {
    http_response_code(500);
}
