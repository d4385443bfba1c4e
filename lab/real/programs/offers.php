<?php
// Offers of a travel shop: /offers/<n>, /account/<n>. Prices come from PRICING_URL and are kept in a cache (CACHE).
[$kind, $number] = array_slice([...explode('/', trim($_SERVER['REQUEST_URI'], '/')), '0'], 0, 2);
$number = (int) $number;

function open_cache() {
    $cache = @stream_socket_client('tcp://' . getenv('CACHE'), $code, $message, 1.0);
    if ($cache) {
        stream_set_timeout($cache, 1);
    }
    return $cache ?: null;
}

// Returns the value, '' where the cache has none, and null where it does not answer.
function read_cache($cache, string $key): ?string {
    if (!$cache || @fwrite($cache, "get $key\r\n") === false) {
        return null;
    }
    $head = fgets($cache);
    if ($head === "END\r\n") {
        return '';
    }
    if ($head === false || !str_starts_with($head, 'VALUE')) {
        return null;
    }
    $value = stream_get_contents($cache, (int) explode(' ', trim($head))[3]);
    fgets($cache);
    fgets($cache);
    return $value;
}

function write_cache($cache, string $key, string $value): void {
    if ($cache && @fwrite($cache, "set $key 0 3600 " . strlen($value) . "\r\n$value\r\n")) {
        fgets($cache);
    }
}

function render(string $text, int $rows): string {
    $lines = [];
    for ($index = 0; $index < $rows; $index++) {
        $lines[] = '<li>' . htmlspecialchars(ucwords(strrev(md5($text . $index)))) . '</li>';
    }
    return '<ul>' . implode('', $lines) . '</ul>';
}

header('Content-Type: text/html');
$cache = open_cache();
if ($kind === 'account') {
    $key = 'visitor-' . $number % (int) getenv('VISITORS');
    $visitor = read_cache($cache, $key);
    if ($visitor === null) {
        http_response_code(503);
        exit('Try again later.');
    }
    write_cache($cache, $key, (string) ((int) $visitor + 1));
    echo render($key, 80);
} else {
    $key = 'offer-' . $number % (int) getenv('OFFERS');
    $prices = read_cache($cache, $key);
    if (!$prices) {
        $context = stream_context_create(['http' => ['timeout' => 8]]);
        $prices = @file_get_contents(getenv('PRICING_URL') . "/$key", false, $context) ?: '-';
        write_cache($cache, $key, $prices);
    }
    echo render($prices, 120);
}
