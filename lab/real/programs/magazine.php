<?php
// A magazine of many parts: /<area>/<n>. Each area has parts of its own, and all areas have the base in common.
[$area, $number] = array_slice([...explode('/', trim($_SERVER['REQUEST_URI'], '/')), '0'], 0, 2);
$number = (int) $number;
$parts = __DIR__ . '/parts';
if (!ctype_alnum($area) || !is_dir("$parts/$area")) {
    http_response_code(404);
    exit;
}
header('Content-Type: text/html');
$html = '';
foreach (['base' => (int) getenv('BASE_PARTS'), $area => (int) getenv('AREA_PARTS')] as $folder => $count) {
    for ($index = 0; $index < $count; $index++) {
        $part = require "$parts/$folder/part$index.php";
        $html .= $part->render($number);
    }
}
echo "<html><body>$html</body></html>";
