<?php
// Stays in an inn: /bookings/<n> keeps a booking as a file that replaces an older one, /stays/<n> reads one.
// Environment: KEPT (the directory of the bookings), PLACES (how many are kept), ROUNDS (what an answer costs).
declare(strict_types=1);

[, $page, $number] = [...explode('/', (string) parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH)), '', ''];
$file = getenv('KEPT') . '/' . ((int) $number % (int) getenv('PLACES')) . '.json';
$seal = (string) $number;
for ($i = 0; $i < (int) getenv('ROUNDS'); $i++) {
    $seal = hash('sha256', $seal);
}
header('Content-Type: application/json');
if ($page === 'bookings') {
    $booking = json_encode(['guest' => (int) $number, 'nights' => 1 + (int) $number % 9, 'seal' => $seal]);
    $temporary = $file . '.' . bin2hex(random_bytes(4));
    if (@file_put_contents($temporary, $booking) === false || !rename($temporary, $file)) {
        http_response_code(500);
        exit(json_encode(['booked' => false]));
    }
    exit(json_encode(['booked' => true]));
}
echo json_encode(['stay' => is_file($file) ? json_decode((string) file_get_contents($file), true) : null]);
