<?php
// Wish lists of a shop, kept in Redis (STORE, address:port): /wish/<n> adds an article, /lists/<n> shows a list,
// /ideas/<n> needs no list. LISTS is how many there are.
[$kind, $number] = array_slice([...explode('/', trim($_SERVER['REQUEST_URI'], '/')), '0'], 0, 2);
$number = (int) $number;

function ask_store(array $words): array {
    static $store = null;
    [$host, $port] = explode(':', getenv('STORE'));
    $store ??= pfsockopen($host, (int) $port, $code, $message, 2.0);
    if (!$store) {
        throw new RuntimeException($message);
    }
    $parts = array_map(fn ($word) => '$' . strlen((string) $word) . "\r\n$word\r\n", $words);
    fwrite($store, '*' . count($words) . "\r\n" . implode('', $parts));
    return read_answer($store);
}

function read_answer($store): array {
    $line = rtrim((string) fgets($store), "\r\n");
    $rest = substr($line, 1);
    switch ($line[0] ?? '') {
        case '*':
            return array_merge(...array_map(fn () => read_answer($store), range(1, max(1, (int) $rest))));
        case '$':
            return [(int) $rest < 0 ? '' : substr((string) stream_get_contents($store, (int) $rest + 2), 0, -2)];
        case '-':
            throw new RuntimeException($rest);
        default:
            return [$rest];
    }
}

function render(array $words, int $rows): string {
    $lines = array_map(fn ($row) => '<li>' . htmlspecialchars(strrev(md5($row . implode($words)))) . '</li>', range(1, $rows));
    return '<ul>' . implode('', $lines) . '</ul>';
}

$list = 'list:' . $number % (int) getenv('LISTS');
header('Content-Type: text/html');
try {
    echo match ($kind) {
        'wish' => render(ask_store(['SETRANGE', $list, $number % 40 * 8, sprintf('%08d', $number)]), 20),
        'lists' => render(ask_store(['GET', $list]), 60),
        default => render([$number], 100),
    };
} catch (RuntimeException $error) {
    error_log("wishes: $kind: " . $error->getMessage());
    http_response_code(500);
}
