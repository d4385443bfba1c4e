<?php
// Folders of teams: PUT /folders/<n>/<name> stores a file, GET sends it, GET /folders/<n> lists a folder.
[, $folder, $name] = [...explode('/', trim($_SERVER['REQUEST_URI'], '/')), '', ''];
$directory = getenv('FOLDERS') . '/' . ((int) $folder % 32);
$file = $directory . '/' . ((int) $name % (int) getenv('FILES'));
if (!is_dir($directory)) {
    @mkdir($directory);
}
if ($_SERVER['REQUEST_METHOD'] === 'PUT') {
    $part = $file . '.' . getmypid() . '.part';
    $input = fopen('php://input', 'rb');
    $output = fopen($part, 'wb');
    $sum = hash_init('sha256');
    while (($block = fread($input, 16384)) !== '' && $block !== false) {
        hash_update($sum, $block);
        if (fwrite($output, $block) !== strlen($block)) {
            http_response_code(507);
            exit;
        }
    }
    fclose($output);
    rename($part, $file);
    http_response_code(201);
    echo hash_final($sum), "\n";
} elseif ($name !== '') {
    if (is_file($file)) {
        header('Content-Length: ' . filesize($file));
        readfile($file);
    } else {
        echo "empty\n";
    }
} else {
    echo implode("\n", array_slice(scandir($directory), 2, 200)), "\n";
}
