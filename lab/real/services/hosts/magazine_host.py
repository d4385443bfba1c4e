"""A magazine in PHP behind nginx, whose pages are made of many files, and its clients."""

from __future__ import annotations

import random
import time
from pathlib import Path

from lab.environment import LabEnvironment
from lab.load import Load, wait_for
from lab.real.services.nginx import ACCESS_LOG, Nginx, NginxSettings, build_fastcgi
from lab.real.services.php import Php, PhpSettings
from lab.real.services.web_neighbours import choose_scope, draw_ports, start_neighbours, start_requests
from lab.scenario import Live

AREAS = ("news", "sports", "culture", "travel", "science", "cooking", "garden", "letters", "music", "games")
METHOD = """
    private function describe{name}(int $number): string {{
        $words = ['{first}' => {x}, '{second}' => $number % {y}, '{third}' => '{text}'];
        if ($number > {limit}) {{
            $words['{first}'] .= strtoupper($words['{third}']) . implode(', ', array_keys($words));
        }} elseif ($number % {x} === 3) {{
            foreach ($words as $key => $value) {{
                $words[$key] = sprintf('%s %s', $key, is_int($value) ? $value * {y} + 1 : strrev($value));
            }}
        }}
        return htmlspecialchars($words['{third}'] . ' ' . $words['{second}']);
    }}
"""
PART = """<?php
return new class {{
    public function render(int $number): string {{
        return '<p>' . $this->describe{name}($number) . '</p>';
    }}
{methods}}};
"""


class Magazine:
    """The magazine that runs. `parameters` collects what was chosen."""

    def __init__(
        self, environment: LabEnvironment, rng: random.Random, *, areas: int, memory_mb: int
    ) -> None:
        """Write the files; start php-fpm, nginx and neighbors. memory_mb: memory of OPcache."""
        self.environment, self.rng = environment, rng
        self.port, php_port = draw_ports(rng, 2)
        self.areas = rng.sample(AREAS, areas)
        base, parts, methods = rng.randrange(8, 16), rng.randrange(70, 95), rng.randrange(16, 24)
        directory = environment.directory / "srv" / "magazine" / "parts"
        for folder, count in (("base", base), *((area, parts) for area in self.areas)):
            self._write_parts(directory / folder, count, methods)
        variables = {"BASE_PARTS": str(base), "AREA_PARTS": str(parts)}
        pool = PhpSettings(
            pool="magazine", max_children=rng.choice((8, 12, 16)), variables=variables,
            options=self._build_options(memory_mb),
        )  # fmt: skip
        self.php = Php(environment, php_port, ("magazine.php",), pool)
        location = build_fastcgi("/", self.php.address, str(self.php.directory / "magazine.php"))
        self.nginx = Nginx(environment, self.port, NginxSettings(server_lines=location))
        self.healthy: dict[str, float] = {}
        self.parameters: dict[str, object] = {
            "port": self.port, "areas": self.areas, "base": base, "parts": parts, "methods": methods,
            "neighbours": start_neighbours(environment, rng),
        }  # fmt: skip

    def _write_parts(self, directory: Path, count: int, methods: int) -> None:
        rng = self.rng
        directory.mkdir(parents=True)
        for index in range(count):
            names = [f"{directory.name.title()}{index}x{number}" for number in range(methods)]
            text = "".join(
                METHOD.format(
                    name=name, first=f"a{rng.randrange(9999)}", second=f"b{rng.randrange(9999)}",
                    third=f"c{rng.randrange(9999)}", text=f"{rng.getrandbits(200):x}", x=rng.randrange(5, 99),
                    y=rng.randrange(5, 99), limit=rng.randrange(10_000, 90_000_000),
                )
                for name in names
            )  # fmt: skip
            (directory / f"part{index}.php").write_text(PART.format(name=names[0], methods=text))

    @staticmethod
    def _build_options(memory_mb: int) -> tuple[str, ...]:
        return (f"opcache.memory_consumption={memory_mb}", "opcache.interned_strings_buffer=2")

    def start_with_memory(self, memory_mb: int) -> None:
        """Start PHP again with this memory of OPcache."""
        self.php.restart(options=self._build_options(memory_mb))

    def start_clients(self, rate: float, *, warm_s: float = 4.0) -> None:
        """Start clients of all areas, and measure the healthy phase after a warm-up."""
        self.parameters |= {"rate": rate}
        paths = [f"/{area}/{{n}}" for area in self.areas]
        self.load: Load = start_requests(
            self.environment, self.rng, self.nginx.address, rate, *paths, options=("--timeout-s", 4)
        )
        wait_for(lambda: self.load.stats()["ok"] > 50, "answers to clients")
        time.sleep(warm_s)
        self.healthy = self.load.baseline(4.0)

    def build_live(self, pid: int, **parameters: object) -> Live:
        """Return what the scenario hands out, and count from here on."""
        self.load.mark()
        return Live(
            self.environment.host, choose_scope(self.environment, self.rng, pid),
            {**self.parameters, **parameters, "healthy": self.healthy}, self.load.stats, ACCESS_LOG,
            mark=self.load.mark,
        )  # fmt: skip
