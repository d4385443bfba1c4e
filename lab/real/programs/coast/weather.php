<?php
// The weather for sailors: /tides/<n> asks a station of the coast, /winds/<n> and /harbors/<n> are known here.
declare(strict_types=1);

$words = explode('/', trim((string) parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH), '/'));
$kind = $words[0];
$number = (int) ($words[1] ?? 0);
header('Content-Type: application/json');

if ($kind === 'tides') {
    $station = str_replace('%d', (string) ($number % (int) getenv('STATIONS')), (string) getenv('STATION_URL'));
    $context = stream_context_create(['http' => ['timeout' => 5, 'header' => "Connection: close\r\n"]]);
    $text = @file_get_contents("$station/levels/$number", false, $context);
    if ($text === false) {
        http_response_code(502);
        exit('{"error":"no level"}');
    }
    exit(json_encode(['tide' => $number, 'level' => substr(md5($text), 0, 8)]));
}

$seal = (string) $number;
for ($i = 0; $i < (int) getenv('ROUNDS'); $i++) {
    $seal = hash('sha256', $seal . $kind);
}
echo json_encode(['kind' => $kind, 'number' => $number, 'seal' => $seal]);
