"""A winery: php-fpm behind nginx, and releases of its shop in directories of their own."""

from __future__ import annotations

import random
from pathlib import Path

from lab.real.services.nginx import build_fastcgi
from lab.real.services.php import Php, PhpSettings
from lab.real.services.towns.town import Town

TOPICS = (
    "Vintage",
    "Shipping",
    "Discount",
    "Cellar",
    "Customs",
    "Tasting",
    "Voucher",
    "Invoice",
    "Bottle",
    "Allergen",
)
FIELDS = ("bottles", "price", "weight", "points", "year", "region", "zone", "member", "cases", "distance")
INDEX = """<?php
// The shop of a winery: /wines/<n>, /orders/<n> and /members/<n> apply the rules that their number selects.
declare(strict_types=1);

const RELEASE = '{release}';
const MODULES = {modules};
const SHARED = {shared};
const APPLIED = {applied};

spl_autoload_register(static function (string $name): void {{
    require __DIR__ . '/src/' . str_replace('\\\\', '/', $name) . '.php';
}});

function list_modules(int $number): array
{{
    $names = range(0, SHARED - 1);
    for ($i = 0; $i < APPLIED; $i++) {{
        $names[] = SHARED + ($number * 31 + $i * 7) % (MODULES - SHARED);
    }}
    return array_unique($names);
}}

[, $page, $number] = explode('/', parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH));
$item = ['year' => 1990 + $number % 34, 'bottles' => 1 + $number % 24, 'price' => 6.5 + $number % 90];
foreach (list_modules((int) $number) as $module) {{
    $class = sprintf('Rules\\\\Rule%03d', $module);
    $item = (new $class())->apply($item);
}}
header('Content-Type: application/json');
echo json_encode(['release' => RELEASE, 'page' => $page, 'item' => $item, 'paid' => hash('sha256', serialize($item))]);
"""
MODULE = """<?php
// Part of release {release}.
declare(strict_types=1);

namespace Rules;

final class Rule{number:03}
{{
    private const LIMITS = [{limits}];

    public function apply(array $item): array
    {{
        $item['rule'] = ($item['rule'] ?? 0) + self::LIMITS[$item['bottles'] % {count}];
        return $item;
    }}
{methods}}}
"""
METHOD = """
    public function check{topic}{number}(array $item, float $factor = {factor}): array
    {{
        $notes = [];
        foreach (self::LIMITS as $position => $limit) {{
            if (isset($item['{first}']) && $item['{first}'] * $factor > $limit && $position % {step} !== 0) {{
                $notes[] = ['{second}' => $item['{first}'] - $limit, 'reason' => '{topic} {number} of {first}'];
            }} elseif (($item['{second}'] ?? 0) < {least}) {{
                $notes[] = sprintf('%s: %0.2f', '{topic} needs {second}', $limit * $factor);
            }}
        }}
        usort($notes, static fn ($left, $right): int => count((array) $left) <=> count((array) $right));
        return array_merge($item, ['{topic}{number}' => array_slice($notes, 0, {step})]);
    }}
"""


def write_release(directory: Path, release: str, draw: random.Random, modules: int, methods: int) -> None:
    """Write the files of a release; the same `draw` writes the same rules."""
    source = directory / "src" / "Rules"
    source.mkdir(parents=True)
    for number in range(modules):
        text = "".join(
            METHOD.format(
                topic=draw.choice(TOPICS), number=index, factor=round(draw.uniform(0.5, 3.0), 3),
                first=draw.choice(FIELDS), second=draw.choice(FIELDS), step=draw.randrange(2, 9),
                least=draw.randrange(3, 90),
            )
            for index in range(methods)
        )  # fmt: skip
        limits = [draw.randrange(1, 5_000) for _ in range(draw.randrange(20, 40))]
        (source / f"Rule{number:03}.php").write_text(
            MODULE.format(
                release=release,
                number=number,
                limits=", ".join(map(str, limits)),
                count=len(limits),
                methods=text,
            )
        )


class Winery:
    """The shop that runs. `location` is what nginx needs for it."""

    #: Mebibytes of shared memory that a compiled method takes, and what is taken before any code (PHP 8.2).
    METHOD_MB, EMPTY_MB = 0.00335, 2.75

    def __init__(self, town: Town, release_share: float) -> None:
        """Start it. release_share: which part of the memory for compiled code a release takes."""
        rng, self.environment = town.rng, town.environment
        self.seed, self.memory_mb = rng.randrange(10_000), rng.choice((16, 20, 24))
        self.methods = rng.randrange(28, 40)
        room_mb = self.memory_mb - self.EMPTY_MB
        self.modules = round(room_mb * release_share / (self.methods * self.METHOD_MB))
        self.shared, self.applied = rng.randrange(6, 10), rng.randrange(36, 46)
        self.directory = self.environment.directory / "srv" / "winery"
        self.current = self.directory / "current"
        self.number = rng.randrange(100, 400)
        self.install_release()
        options = (f"opcache.memory_consumption={self.memory_mb}", "opcache.interned_strings_buffer=2",
                   f"opcache.revalidate_freq={rng.choice((2, 10, 60))}")  # fmt: skip
        children = rng.choice((10, 12, 16))
        self.php = Php(
            self.environment, town.take_ports(1)[0], (),
            PhpSettings(pool="winery", max_children=children, options=options),
        )  # fmt: skip
        # The path of a release, so that a request never mixes files of two.
        self.location = build_fastcgi(
            "/", self.php.address, "$realpath_root/index.php", lines=f"root {self.current};"
        )
        town.parameters |= {
            "memory_mb": self.memory_mb, "modules": self.modules, "methods": self.methods, "children": children,
        }  # fmt: skip

    def install_release(self) -> str:
        """Install the next release next to those before, and let the site use it."""
        self.number += 1
        name = f"build-{self.number}"
        target = self.directory / "releases" / name
        write_release(target, name, random.Random(self.seed), self.modules, self.methods)
        (target / "index.php").write_text(
            INDEX.format(release=name, modules=self.modules, shared=self.shared, applied=self.applied)
        )
        link = self.directory / "next"
        link.symlink_to(target)
        link.replace(self.current)
        return name
