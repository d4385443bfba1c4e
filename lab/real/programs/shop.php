<?php
// The pages of the shop: /page.php/<kind>/<n>. STOCK_URL is the stock service, asked by carts and orders.
$words = explode('/', trim($_SERVER['REQUEST_URI'], '/'));
[$kind, $number] = [$words[0] ?? '', (int) ($words[1] ?? 0)];

function render_list(int $first, int $count): string {
    $lines = [];
    for ($index = 0; $index < $count; $index++) {
        $name = ucwords(strrev(md5((string) ($first + $index))));
        $lines[] = sprintf('<li id="%d">%s %s</li>', $first + $index, htmlspecialchars($name), number_format(($first % 997) * 1.19, 2));
    }
    usort($lines, 'strcmp');
    return '<ul>' . implode('', $lines) . '</ul>';
}

function fetch_level(int $number): string {
    $url = getenv('STOCK_URL');
    if (!$url) {
        return (string) ($number % 40);
    }
    $answer = @file_get_contents("$url/levels/$number", false, stream_context_create(['http' => ['timeout' => 8]]));
    if ($answer === false) {
        http_response_code(502);
        return 'unknown';
    }
    return (string) strlen($answer);
}

header('Content-Type: text/html');
switch ($kind) {
    case 'cart':
    case 'orders':
        echo render_list($number, 60), fetch_level($number);
        break;
    case 'category':
        echo render_list($number, 900);
        break;
    default:
        echo render_list($number, 300);
}
