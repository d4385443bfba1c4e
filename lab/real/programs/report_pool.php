<?php
// Connections of the reports to MariaDB: argv are DSN, number of connections and seconds between two statements.
[, $dsn, $count, $pause] = $argv;
$pool = [];
while (true) {
    while (count($pool) < (int) $count) {
        try {
            $pool[] = new PDO($dsn, 'shop', 'shop', [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
        } catch (PDOException $error) {
            usleep(100000);
        }
    }
    $customer = random_int(0, 2000);
    $pool[array_rand($pool)]->query("SELECT status, sum(amount) FROM orders WHERE customer_id = $customer GROUP BY status")->fetchAll();
    usleep((int) ($pause * 1000000));
}
