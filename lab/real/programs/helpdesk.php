<?php
// A help desk in front of MariaDB: /tickets/<n>, /callers/<n>, /days/<n>, /reply/<n>. RELEASE is the release of its statements.
[$kind, $number] = array_slice([...explode('/', trim($_SERVER['REQUEST_URI'], '/')), '0'], 0, 2);
$number = (int) $number;
$release = (int) getenv('RELEASE');

$by_phone = match ($release) {
    42 => "REPLACE(phone, ' ', '') = ?",
    43 => 'phone = 0 + ?',
    default => 'phone = ?',
};
$by_day = $release === 44 ? 'DATE(updated_at) = DATE(?)' : 'updated_at >= ? AND updated_at < ? + INTERVAL 1 DAY';

function fetch_rows(PDO $database, string $statement, array $values): array {
    $query = $database->prepare($statement);
    $query->execute($values);
    return $query->columnCount() ? $query->fetchAll(PDO::FETCH_NUM) : [];
}

function render(array $rows): string {
    $lines = array_map(fn ($row) => '<tr><td>' . implode('</td><td>', array_map('htmlspecialchars', array_map('strval', $row))) . '</td></tr>', $rows);
    return '<table>' . implode("\n", $lines) . '</table>';
}

header('Content-Type: text/html');
try {
    $database = new PDO(getenv('DATABASE_DSN'), 'shop', 'shop', [
        PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
        PDO::ATTR_TIMEOUT => 10,
    ]);
    switch ($kind) {
        case 'callers':
            $phone = 4930000000 + $number % (int) getenv('CONTACTS') * 7;
            $rows = fetch_rows($database, "SELECT id, name, phone FROM contacts WHERE $by_phone LIMIT 5", [(string) $phone]);
            break;
        case 'days':
            $day = date('Y-m-d', strtotime('2026-01-01') + $number % 300 * 86400);
            $values = $release === 44 ? [$day] : [$day, $day];
            $rows = fetch_rows($database, "SELECT count(*), max(id) FROM tickets WHERE $by_day", $values);
            break;
        case 'reply':
            $ticket = $number % (int) getenv('TICKETS') + 1;
            $database->beginTransaction();
            fetch_rows($database, 'UPDATE queues SET waiting = waiting - 1 WHERE id = ?', [$ticket % (int) getenv('QUEUES') + 1]);
            fetch_rows($database, "INSERT INTO replies (ticket_id, body) VALUES (?, repeat(md5(?), 8))", [$ticket, $number]);
            $database->commit();
            $rows = [['sent', $ticket]];
            break;
        default:
            $ticket = $number % (int) getenv('TICKETS') + 1;
            $rows = fetch_rows($database, 'SELECT t.id, t.subject, t.state, c.name FROM tickets t JOIN contacts c ON c.id = t.contact_id WHERE t.id BETWEEN ? AND ? + 15', [$ticket, $ticket]);
    }
    echo render($rows);
} catch (PDOException $error) {
    error_log("helpdesk: $kind: " . $error->getMessage());
    http_response_code(500);
}
