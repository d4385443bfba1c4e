"""A gunicorn on the host with a Flask application, in its own directory as a release would be."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from lab.cgroups import Group
from lab.environment import LabEnvironment
from lab.load import wait_for

PROGRAMS = Path(__file__).parents[1] / "programs"
SHARDS, PRODUCTS_PER_SHARD = 20, 60
WORDS = [
    "amber",
    "basalt",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "garnet",
    "hazel",
    "indigo",
    "juniper",
    "kelp",
    "linen",
    "maple",
    "nickel",
    "oak",
    "pine",
]


class Gunicorn:
    """A gunicorn that runs. `directory` holds the release and its data, `server` is the arbiter process."""

    def __init__(
        self,
        environment: LabEnvironment,
        port: int,
        application: str = "catalog_app.py",
        *,
        workers: int = 3,
        threads: int = 1,
        backlog: int = 2048,
        address: str = "",
        variables: Mapping[str, str] | None = None,
        options: tuple[str, ...] = (),
        access_log: bool = False,
        limits: tuple[str, ...] = (),
        group: Group | None = None,
    ) -> None:
        """Install the application, start gunicorn and wait until it listens.

        application: a file of lab/real/programs with a WSGI object `app`.
        address: what it listens on; the host's address by default.
        variables: environment variables of the application.
        options: more options of gunicorn. limits: options of prlimit.
        access_log: whether the application writes `log`.
        """
        self.environment, self.port = environment, port
        self.address = address or environment.host_address
        self.application = Path(application).stem
        self.directory = environment.directory / "srv" / self.application.replace("_", "-")
        self.workers, self.threads, self.backlog = workers, threads, backlog
        self.variables = dict(variables or {})
        self.options, self._limits, self._group = options, limits, group
        self.log = f"/run/{self.application}/access.log" if access_log else ""
        environment.host_sh(f"install -d -o www-data /run/{self.application}")
        self.install(application)
        write_products(self.directory / "data")
        self.start()

    @property
    def pid(self) -> int:
        """The arbiter process."""
        return self.server.pid

    def install(self, application: str) -> None:
        """Put a file of lab/real/programs in place as the application."""
        self.directory.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(PROGRAMS / "apps" / application, self.directory / f"{self.application}.py")

    def start(self) -> None:
        """Start gunicorn, and wait until it listens."""
        variables = {
            "DATA_DIRECTORY": str(self.directory / "data"),
            "PYTHONDONTWRITEBYTECODE": "1",
            **self.variables,
        }
        if self.log:
            variables["ACCESS_LOG"] = self.log
        command = [
            "env", "-u", "PYTHONPATH", *(f"{name}={value}" for name, value in variables.items()),
            "gunicorn", "--bind", f"{self.address}:{self.port}", "--workers", str(self.workers),
            "--backlog", str(self.backlog), "--chdir", str(self.directory), "--worker-tmp-dir", "/dev/shm",
            "--user", "www-data", "--group", "www-data", "--error-logfile", f"/run/{self.application}/error.log",
            *(("--threads", str(self.threads)) if self.threads > 1 else ()),
            *self.options, f"{self.application}:app",
        ]  # fmt: skip
        before = ["prlimit", *self._limits, "--"] if self._limits else []
        self.server: subprocess.Popen[bytes] = self.environment.on_host([*before, *command], self._group)
        wait_for(
            lambda: self.server.poll() is not None or (self._is_listening() and len(self.list_workers()) > 0),
            f"gunicorn on port {self.port}",
            30.0,
        )
        if self.server.poll() is not None:
            raise RuntimeError(
                f"gunicorn ended: {self.environment.host_sh(f'tail -c 800 /run/{self.application}/error.log')}"
            )

    def stop(self) -> None:
        """End gunicorn and its workers."""
        self.server.terminate()
        self.server.wait()
        wait_for(lambda: not self._is_listening(), "gunicorn to end")

    def restart(self, application: str = "", **variables: str) -> None:
        """Start again, with another application file or other environment variables, as a release does."""
        self.stop()
        if application:
            self.install(application)
        self.variables |= variables
        self.start()

    def list_workers(self) -> list[int]:
        """Return the pids of the worker processes."""
        done = subprocess.run(
            ["pgrep", "-P", str(self.server.pid)], capture_output=True, text=True, check=False
        )
        return [int(word) for word in done.stdout.split()]

    def _is_listening(self) -> bool:
        return f":{self.port} " in self.environment.host_net.sh(f"ss -Hltn sport = :{self.port}")


def write_products(directory: Path) -> None:
    """Write the products of the shop, as files of JSON."""
    directory.mkdir(parents=True, exist_ok=True)
    draw = random.Random(len(WORDS))
    for shard in range(SHARDS):
        products = [
            {
                "id": shard * PRODUCTS_PER_SHARD + index,
                "name": " ".join(draw.sample(WORDS, 3)),
                "price": round(draw.uniform(2, 400), 2),
                "tags": draw.sample(WORDS, 4),
                "text": " ".join(draw.choices(WORDS, k=40)),
            }
            for index in range(PRODUCTS_PER_SHARD)
        ]
        (directory / f"products-{shard:02}.json").write_text(json.dumps(products))
