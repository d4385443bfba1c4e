<?php
// Casks of a brewery in MariaDB: ?page=casks&n=<n> lists casks of a cellar, ?page=cellars&n=<n> sums a cellar up,
// ?page=recipes&n=<n> needs no rows. Environment: DATABASE_DSN, CELLARS, ROUNDS (what a recipe costs).
$page = $_GET['page'] ?? 'recipes';
$number = (int) ($_GET['n'] ?? 0);
$cellar = $number % (int) getenv('CELLARS');
$statements = [
    'casks' => 'SELECT id, brew, liters FROM casks WHERE cellar = ? ORDER BY id DESC LIMIT 30',
    'cellars' => 'SELECT brew, count(*) AS casks, sum(liters) AS liters FROM casks WHERE cellar = ? GROUP BY brew',
];
header('Content-Type: application/json');
if (!isset($statements[$page])) {
    echo json_encode(['recipe' => hash_pbkdf2('sha256', "recipe $number", 'malt', (int) getenv('ROUNDS'))]);
    return;
}
try {
    $database = new PDO(getenv('DATABASE_DSN'), 'shop', 'shop', [
        PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
        PDO::ATTR_PERSISTENT => true,
    ]);
    $query = $database->prepare($statements[$page]);
    $query->execute([$cellar]);
    echo json_encode(['cellar' => $cellar, 'rows' => $query->fetchAll(PDO::FETCH_ASSOC)]);
} catch (PDOException) {
    http_response_code(503);
    echo json_encode(['notice' => 'Please come back later.']);
}
