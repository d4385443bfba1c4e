<?php
// Spare parts of cars: /parts/<n> and /list/<n>?shelf=... are the same for all visitors, /garage/<n> belongs to one of them.
[$kind, $number] = array_slice([...explode('/', trim(parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH), '/')), '0'], 0, 2);
$number = (int) $number;
$products = (int) getenv('PRODUCTS');

function fetch_rows(PDO $database, string $statement, array $values): array {
    $query = $database->prepare($statement);
    $query->execute($values);
    return $query->fetchAll(PDO::FETCH_ASSOC);
}

function render(array $rows): string {
    $lines = array_map(fn ($row) => '<li><b>' . htmlspecialchars($row['name']) . '</b> ' . htmlspecialchars($row['sku']) . ' ' . number_format((float) $row['price'], 2) . '</li>', $rows);
    return '<ul>' . implode("\n", $lines) . '</ul>';
}

try {
    $database = new PDO(getenv('DATABASE_DSN'), 'shop', 'shop', [
        PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
        PDO::ATTR_PERSISTENT => true,
    ]);
    $first = $number % $products;
    if ($kind === 'list') {
        $shelf = (int) getenv('SHELF');
        $rows = fetch_rows($database, 'SELECT sku, name, price FROM products WHERE id BETWEEN ? AND ?', [$first, $first + $shelf]);
        $facets = [];
        foreach ($rows as $row) {
            $facets[substr($row['name'], 0, 2)][] = strtoupper(strrev($row['name'])) . similar_text($row['name'], $row['sku']);
        }
        ksort($facets);
        usort($rows, fn ($one, $other) => [$one['price'], $one['name']] <=> [$other['price'], $other['name']]);
        echo render(array_slice($rows, 0, 60)), count($facets), md5(json_encode($facets));
    } else {
        $rows = fetch_rows($database, 'SELECT p.sku, p.name, p.price, s.available FROM products p JOIN stock s ON s.product_id = p.id WHERE p.id BETWEEN ? AND ?', [$first, $first + 12]);
        echo render($rows), $kind === 'garage' ? hash_pbkdf2('sha256', "garage $number", 'parts', 500) : '';
    }
} catch (PDOException $error) {
    error_log("parts: $kind: " . $error->getMessage());
    http_response_code(500);
}
