<?php
// Pages of a catalog: /items/<n> with the path of its category, from the file CATEGORIES (JSON: id to parents).
[$kind, $number] = array_slice([...explode('/', trim($_SERVER['REQUEST_URI'], '/')), '0'], 0, 2);
$parents = json_decode(file_get_contents(getenv('CATEGORIES')), true);

// Returns the categories above one, the nearest first.
function list_above(array $parents, int $id): array {
    return array_merge(...array_map(fn($above) => [$above, ...list_above($parents, $above)], $parents[$id] ?? []));
}

$lines = [];
foreach (list_above($parents, (int) $number % count($parents)) as $category) {
    for ($index = 0; $index < 300; $index++) {
        $lines[] = md5("$category-$index-" . end($lines));
    }
}
header('Content-Type: text/plain');
echo implode("\n", $lines), "\n";
