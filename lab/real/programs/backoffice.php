<?php
// The back office of a shop: /inbox/<n>, /customers/<n>, /exports/<n>, /updates/<n>; <n> is a visit of one of USERS users.
// REPORTS_URL is asked by exports and updates. RELEASE is the release that runs.
[$kind, $number] = array_slice([...explode('/', trim($_SERVER['REQUEST_URI'], '/')), '0'], 0, 2);
$number = (int) $number;

session_id('desk' . $number % (int) getenv('USERS') . 'x' . getenv('SITE'));
session_start(['use_cookies' => 0, 'cache_limiter' => '']);
$_SESSION['visits'] = ($_SESSION['visits'] ?? 0) + 1;
$_SESSION['last'] = $kind;
if ((int) getenv('RELEASE') < 12) {
    session_write_close();
}

function render_rows(int $first, int $count): string {
    $rows = [];
    for ($index = 0; $index < $count; $index++) {
        $rows[] = '<tr><td>' . htmlspecialchars(ucwords(strrev(md5((string) ($first + $index))))) . '</td></tr>';
    }
    return '<table>' . implode('', $rows) . '</table>';
}

header('Content-Type: text/html');
switch ($kind) {
    case 'exports':
    case 'updates':
        $context = stream_context_create(['http' => ['timeout' => 15]]);
        $answer = @file_get_contents(getenv('REPORTS_URL') . "/$kind/$number", false, $context);
        echo render_rows($number, $kind === 'exports' ? 300 : 20), strlen((string) $answer);
        break;
    case 'customers':
        echo render_rows($number, 200);
        break;
    default:
        echo render_rows($number, 60);
}
if ((int) getenv('RELEASE') >= 12) {
    $_SESSION['seen'][$kind] = $number;
}
