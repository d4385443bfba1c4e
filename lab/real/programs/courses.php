<?php
// Courses of a leisure centre: /courses/<n> lists those of a trainer, /halls/<n> reads orders, /rules/<n> needs no rows.
[$kind, $number] = array_slice([...explode('/', trim($_SERVER['REQUEST_URI'], '/')), '0'], 0, 2);
$number = (int) $number;

const COURSES = <<<'SQL'
    SELECT t.course_id, t.title,
           (SELECT coalesce(sum(b.places), 0) FROM bookings b WHERE b.course_id = t.course_id AND b.state <> 'canceled') AS places,
           (SELECT sum(b.places * b.price) FROM bookings b WHERE b.course_id = t.course_id AND b.state = 'paid') AS paid
    FROM courses_of_trainer(?) t ORDER BY places DESC LIMIT 10
    SQL;
const HALLS = 'SELECT id, product_id, amount, status FROM orders WHERE customer_id = ? ORDER BY created_at DESC LIMIT 20';

header('Content-Type: application/json');
if ($kind === 'rules') {
    echo json_encode(['rules' => hash_pbkdf2('sha256', "rules $number", 'leisure', 1200)]);
    exit;
}
try {
    $database = new PDO(getenv('DATABASE_DSN'), 'web', '', [
        PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
        PDO::ATTR_PERSISTENT => true,
        PDO::ATTR_EMULATE_PREPARES => true,
    ]);
    $query = $database->prepare($kind === 'courses' ? COURSES : HALLS);
    $query->bindValue(1, $kind === 'courses' ? $number % (int) getenv('TRAINERS') : $number % (int) getenv('CUSTOMERS'), PDO::PARAM_INT);
    $query->execute();
    echo json_encode($query->fetchAll(PDO::FETCH_NUM));
} catch (PDOException $error) {
    error_log("courses: $kind: " . $error->getMessage());
    http_response_code(500);
}
