<?php
// Bills of a dental practice: bills.php?n=<n> adds up the treatments of a patient and seals the sum.
// Environment: ROUNDS (how much work a seal is), TREATMENTS (how many are on a bill at most).
$number = (int) ($_GET['n'] ?? 0);
$rows = [];
$total = 0.0;
for ($i = 0; $i < 5 + $number % (int) getenv('TREATMENTS'); $i++) {
    $price = (($number * 31 + $i * 7) % 9000) / 100 + 8;
    $rows[] = ['tooth' => 11 + ($number + $i) % 38, 'treatment' => 'T' . ($i % 60), 'price' => $price];
    $total += $price;
}
$seal = "bill $number: $total";
for ($i = 0; $i < (int) getenv('ROUNDS'); $i++) {
    $seal = hash('sha256', $seal);
}
header('Content-Type: application/json');
echo json_encode(['patient' => $number, 'rows' => $rows, 'total' => round($total, 2), 'seal' => $seal]);
