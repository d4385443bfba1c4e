<?php
// A yarn shop in front of MariaDB: ?page=orders&n=<n> lists latest orders of a customer with their lines, ?page=yarns&n=<n>
// shows a product, ?page=terms&n=<n> needs no rows. Environment: DATABASE_DSN, CUSTOMERS, YARNS, ORDERS (of a list),
// RELEASE. From release 5 on, rows are objects, which load what belongs to them where it is needed.
$page = $_GET['page'] ?? 'terms';
$number = (int) ($_GET['n'] ?? 0);

final class Shop
{
    private PDO $database;

    public function __construct()
    {
        $this->database = new PDO(getenv('DATABASE_DSN'), 'shop', 'shop', [
            PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
            PDO::ATTR_PERSISTENT => true,
            PDO::ATTR_EMULATE_PREPARES => false,
            PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC,
        ]);
    }

    public function fetchRows(string $statement, int ...$values): array
    {
        $query = $this->database->prepare($statement);
        $query->execute($values);
        return $query->fetchAll();
    }
}

// What a row of a table refers to is read at its first use.
final class Row
{
    public function __construct(private Shop $shop, private array $values)
    {
    }

    public function __get(string $name): mixed
    {
        return $this->values[$name];
    }

    public function listLines(): array
    {
        $rows = $this->shop->fetchRows('SELECT yarn, skeins FROM order_lines WHERE order_id = ?', $this->id);
        return array_map(fn (array $row): Row => new Row($this->shop, $row), $rows);
    }

    public function readYarn(): Row
    {
        return new Row($this->shop, $this->shop->fetchRows('SELECT name, cents, dye FROM yarns WHERE id = ?', $this->yarn)[0]);
    }

    public function readDye(): Row
    {
        return new Row($this->shop, $this->shop->fetchRows('SELECT name FROM dyes WHERE id = ?', $this->dye)[0]);
    }
}

const JOINED = 'SELECT o.id, l.skeins, y.name, y.cents, d.name AS dye
    FROM (SELECT id FROM orders WHERE customer_id = ? ORDER BY id DESC LIMIT %d) o
    JOIN order_lines l ON l.order_id = o.id JOIN yarns y ON y.id = l.yarn JOIN dyes d ON d.id = y.dye';
const LATEST = 'SELECT id FROM orders WHERE customer_id = ? ORDER BY id DESC LIMIT %d';

function list_orders(Shop $shop, int $customer, int $count, bool $objects): array
{
    if (!$objects) {
        return $shop->fetchRows(sprintf(JOINED, $count), $customer);
    }
    $list = [];
    foreach ($shop->fetchRows(sprintf(LATEST, $count), $customer) as $values) {
        $order = new Row($shop, $values);
        foreach ($order->listLines() as $line) {
            $yarn = $line->readYarn();
            $list[] = ['id' => $order->id, 'skeins' => $line->skeins, 'name' => $yarn->name, 'cents' => $yarn->cents,
                'dye' => $yarn->readDye()->name];
        }
    }
    return $list;
}

$answer = ['terms' => hash_pbkdf2('sha256', "terms $number", 'yarn', 1500)];
try {
    if ($page === 'orders') {
        $customer = $number % (int) getenv('CUSTOMERS');
        $answer = list_orders(new Shop(), $customer, (int) getenv('ORDERS'), (int) getenv('RELEASE') >= 5);
    } elseif ($page === 'yarns') {
        $answer = (new Shop())->fetchRows('SELECT * FROM yarns WHERE id = ?', $number % (int) getenv('YARNS'));
    }
} catch (PDOException $error) {
    error_log($error->getMessage());
    http_response_code(500);
}
header('Content-Type: application/json');
echo json_encode($answer);
