<?php
// Sizes of a saddler: /sizes/<n> lays out a pattern and seals it, /leathers/<n> describes a leather.
// Environment: ROUNDS (how much work a pattern is).
declare(strict_types=1);

[, $page, $number] = [...explode('/', (string) parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH)), '', ''];
$number = (int) $number;
header('Content-Type: application/json');
if ($page === 'leathers') {
    exit(json_encode(['leather' => $number % 400, 'width' => 120 + $number % 40]));
}
$pieces = [];
for ($i = 0; $i < (int) getenv('ROUNDS'); $i++) {
    $length = 40 + sin($number + $i) * 12;
    $pieces[$i % 60] = hash('sha256', ($pieces[$i % 60] ?? '') . $length);
}
ksort($pieces);
echo json_encode(['customer' => $number, 'pieces' => count($pieces), 'seal' => hash('sha256', implode('', $pieces))]);
