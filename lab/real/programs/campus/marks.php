<?php
// Marks of students: /marks/<n> enters a mark, /students/<n> lists marks, /exams/<n> is brief.
// Environment: DATABASE_DSN, CUSTOMERS (how many students), ROUNDS (how much work a seal is).
[, $kind, $n] = explode('/', $_SERVER['REQUEST_URI']);
$n = (int) $n;
$rows = [];
if ($kind !== 'exams') {
    $options = [PDO::ATTR_PERSISTENT => true, PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_TIMEOUT => 5];
    $database = new PDO(getenv('DATABASE_DSN'), 'shop', 'shop', $options);
    $student = $n % (int) getenv('CUSTOMERS');
    if ($kind === 'marks') {
        $entry = $database->prepare('INSERT INTO marks (student, exam, points) VALUES (?, ?, ?)');
        $entry->execute([$student, $n % 300, $n % 16]);
    }
    $list = $database->prepare('SELECT exam, points FROM marks WHERE student = ? ORDER BY id DESC LIMIT 20');
    $list->execute([$student]);
    $rows = $list->fetchAll(PDO::FETCH_NUM);
}
$seal = "$kind $n";
for ($i = 0; $i < (int) getenv('ROUNDS'); $i++) {
    $seal = hash('sha256', $seal);
}
header('Content-Type: application/json');
echo json_encode(['number' => $n, 'rows' => $rows, 'seal' => $seal]);
