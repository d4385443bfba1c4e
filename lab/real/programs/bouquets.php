<?php
// Orders of a florist: /receipts/<n> sells a bouquet, /bouquets/<n> and /customers/<n> only read.
// Each sale has the next number of its shop and a signature of the tax office (TAX_OFFICE, address:port).
[$kind, $number] = array_slice([...explode('/', trim($_SERVER['REQUEST_URI'], '/')), '0'], 0, 2);
$number = (int) $number;
$release = (int) getenv('RELEASE');

function fetch_rows(PDO $database, string $statement, array $values): array {
    $query = $database->prepare($statement);
    $query->execute($values);
    return $query->columnCount() ? $query->fetchAll(PDO::FETCH_NUM) : [];
}

function fetch_signature(string $text): string {
    [$address, $port] = explode(':', getenv('TAX_OFFICE'));
    $stream = fsockopen($address, (int) $port, $code, $message, 5);
    stream_set_timeout($stream, 5);
    fwrite($stream, "GET /signatures/$text HTTP/1.1\r\nHost: tax-office\r\nConnection: close\r\n\r\n");
    $size = 0;
    while (($line = trim((string) fgets($stream))) !== '') {
        if (stripos($line, 'content-length:') === 0) {
            $size = (int) substr($line, 15);
        }
    }
    $body = $size ? (string) fread($stream, $size) : '';
    fclose($stream);
    return sha1($body);
}

$product = $number % (int) getenv('PRODUCTS');
$customer = $number % (int) getenv('CUSTOMERS');
$shop = $number % (int) getenv('SHOPS');
header('Content-Type: application/json');
try {
    $database = new PDO(getenv('DATABASE_DSN'), 'shop', 'shop', [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_TIMEOUT => 10]);
    if ($kind === 'receipts') {
        // Since release 52, the signature covers the number of the receipt and not that of the basket.
        $signature = $release < 52 ? fetch_signature("b$number") : '';
        $database->beginTransaction();
        fetch_rows($database, 'UPDATE shops SET receipt = receipt + 1 WHERE id = ?', [$shop]);
        $receipt = fetch_rows($database, 'SELECT receipt FROM shops WHERE id = ?', [$shop])[0][0];
        $signature = $signature ?: fetch_signature("r$receipt");
        fetch_rows($database, "INSERT INTO orders (customer_id, product_id, amount, status, note) VALUES (?, ?, ?, 'new', ?)", [$customer, $product, $number % 90, $signature]);
        $database->commit();
        $rows = [$receipt, $signature];
    } elseif ($kind === 'customers') {
        $rows = fetch_rows($database, 'SELECT id, product_id, amount FROM orders WHERE customer_id = ? ORDER BY id DESC LIMIT 20', [$customer]);
    } else {
        $rows = fetch_rows($database, 'SELECT sku, name, price FROM products WHERE id BETWEEN ? AND ?', [$product, $product + 12]);
    }
    echo json_encode($rows);
} catch (PDOException $error) {
    error_log("bouquets: $kind: " . $error->getMessage());
    http_response_code(503);
}
