"""`./culprit up`: from a checkout to a running platform, in the foreground.

Two stages. The first runs under whatever Python the machine has and installs the lock files; the second runs
under .venv's, below a warden, and starts everything.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import secrets
import subprocess
import sys
import time
from base64 import b64encode
from dataclasses import dataclass, replace
from pathlib import Path

from culprit.launch import install, local_sshd, machine, services, state, this_host, warden
from culprit.launch.apt_packages import Packages
from culprit.launch.engines import EngineError, Postgres, Valkey
from culprit.launch.parts import Change, Part
from culprit.launch.paths import DIST, PYTHON, ROOT, Home
from culprit.launch.progress import Progress, Refusal
from culprit.launch.supervisor import Died, Stopped, Supervisor

DEFAULT_PORT = 8040
STOP_ORDER = ["worker", "scheduler", "api", "sshd"]
# Without these nothing works, and without the API nobody could stop what the rest starts on hosts.
ESSENTIAL = frozenset({"api", "postgresql"})
BEGAN, PHASES = "CULPRIT_UP_BEGAN", "CULPRIT_UP_PHASES"


@dataclass(frozen=True, slots=True)
class Order:
    """What the person asked for."""

    listen: str
    timings: Path | None
    this_host: bool

    @classmethod
    def parse(cls, arguments: list[str]) -> Order:
        """The options of `./culprit up`."""
        parser = argparse.ArgumentParser(
            prog="culprit up", description="Start the platform in the foreground."
        )
        parser.add_argument(
            "--listen", default="127.0.0.1", metavar="ADDR[:PORT]",
            help=f"where to serve (default 127.0.0.1:{DEFAULT_PORT})",
        )  # fmt: skip
        parser.add_argument("--timings", type=Path, metavar="FILE", help="write seconds per phase as JSON")
        parser.add_argument(
            "--no-host", action="store_true", help="do not enrol this machine by a private sshd"
        )
        given = parser.parse_args(arguments)
        timings = given.timings.resolve() if given.timings else None
        return cls(given.listen, timings, not given.no_host)


def groups_needed() -> list[str]:
    """Groups of the lock that this machine and environment want."""
    wanted = []
    if not (os.environ.get("DATABASE_URL") and os.environ.get("REDIS_URL")):
        wanted.append("embedded")
    if machine.system_node() is None and not install.frontend_built():
        wanted.append("node")
    return wanted


def first_stage(arguments: list[str]) -> int:
    """Check, say what will be used, install; then go on under .venv's Python. Raises Refusal."""
    Order.parse(arguments)  # a wrong option is told before anything is fetched
    progress = Progress()
    machine.check()
    home = Home.of(os.environ)
    refuse_second(home)
    installed = install.installed_groups() is not None
    progress.say(machine.needs(ROOT, home.path, installed=installed, has_data=home.postgres.exists()))
    install.python_packages(groups_needed(), progress)
    os.environ[BEGAN] = repr(progress.began)
    os.environ[PHASES] = json.dumps(progress.phases)
    os.execv(PYTHON, [str(PYTHON), "-P", "-m", "culprit.launch", "up-installed", *arguments])  # noqa: S606


def refuse_second(home: Home) -> None:
    """Raises Refusal where a platform runs over `home` already."""
    known = state.read(home)
    if known and state.lives(known.get("supervisor")):
        raise Refusal(f"Culprit is running already at {known['url']}; ./culprit down stops it")


def second_stage(arguments: list[str]) -> int:
    """Start everything below a warden; returns the exit code. Raises Refusal."""
    order = Order.parse(arguments)
    progress = Progress(float(os.environ.get(BEGAN, repr(time.monotonic()))))
    progress.phases = json.loads(os.environ.get(PHASES, "{}"))
    home = Home.of(os.environ)
    try:
        home.make()
    except OSError as error:
        raise Refusal(f"cannot write to {home.path}: {error.strerror}; set CULPRIT_HOME") from error
    lock = state.hold(home)
    if lock is None:
        refuse_second(home)
        raise Refusal(f"another ./culprit up is starting over {home.path}")
    state.clear(home)
    warden_pid = os.getpid()
    return warden.watch_over(lambda: Platform(order, home, progress, warden_pid).run())


class Platform:
    """One running platform, from its first engine to the last process that ends."""

    def __init__(self, order: Order, home: Home, progress: Progress, warden_pid: int) -> None:
        self.order = order
        self.home = home
        self.progress = progress
        self.warden = state.process(warden_pid)
        self.packages = Packages(home.packages)
        self.address, self.port, self.public_url = self._where()
        self.announced: dict[str, str | None] = {}
        self.supervisor = Supervisor(
            home.logs, services.environment(os.environ, **self._settings()), ESSENTIAL, self._on_change
        )

    def run(self) -> int:
        """Start, watch, stop; returns the exit code."""
        supervisor = self.supervisor
        supervisor.listen_to_signals()
        code = 1
        try:
            self._start()
            supervisor.watch(services.workers())
        except Stopped:
            sys.stdout.write("\n")
            self.progress.say("Stopping …")
            code = 0
        except (Died, EngineError, Refusal) as error:
            sys.stderr.write(f"culprit: {error}\nculprit: logs are in {self.home.logs}\n")
        finally:
            supervisor.stop_all(STOP_ORDER)
            state.clear(self.home)
        self.progress.say("Stopped; nothing is left running." if code == 0 else "All is stopped.")
        return code

    # -- starting --------------------------------------------------------------------------------------

    def _where(self) -> tuple[str, int, str]:
        address, wanted, given = machine.parse_listen(self.order.listen, DEFAULT_PORT)
        port = machine.free_port(address, wanted, tries=1 if given else 50)
        if port is None:
            raise Refusal(f"{address}:{wanted} cannot be listened on; choose another with --listen ADDR:PORT")
        shown = address
        if address in {"0.0.0.0", "::", "*"}:  # noqa: S104 - compared, not bound
            shown = machine.outward_address()
        shown = f"[{shown}]" if ":" in shown else shown
        return address, port, os.environ.get("CULPRIT_PUBLIC_URL") or f"http://{shown}:{port}"

    def _settings(self) -> dict[str, str]:
        own = {"CULPRIT_HOME": str(self.home.path), "CULPRIT_PUBLIC_URL": self.public_url}
        own["CULPRIT_UI_DIR"] = os.environ.get("CULPRIT_UI_DIR", str(DIST))
        if not os.environ.get("CULPRIT_SECRET_KEY") and not os.environ.get("CULPRIT_SECRET_KEY_FILE"):
            own["CULPRIT_SECRET_KEY_FILE"] = str(secret_key(self.home.secret_key))
        return own

    def _start(self) -> None:
        self._announce_state()
        build = None if install.frontend_built() else self._beside("build")
        lacking = self.order.this_host and this_host.wanted(self.packages)
        packages = self._beside("packages") if lacking else None
        self._engines()
        if not self._migrated():
            with self.progress.phase("migrations", "Bringing the database up to date"):
                self.supervisor.run("migrate", services.MIGRATE)
        self._join("packages", packages)
        sshd = None
        if self.order.this_host:
            sshd = this_host.start(self.home.sshd, self.packages, self.supervisor, self.progress)
        with self.progress.phase("services", "Starting API, workers and scheduler"):
            api = replace(services.api(self.address, self.port), port=self.port)
            for service in (api, *services.workers(), services.SCHEDULER):
                self.supervisor.start(service)
            self._announce_state()
            bootstrap = self.supervisor.begin("bootstrap", (*services.BOOTSTRAP, *bootstrap_options(sshd)))
            answer = json.loads(self.supervisor.finish("bootstrap", bootstrap))
            local = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.address, self.address)  # noqa: S104
            self.supervisor.wait_ready(local, self.port, whole=True)
        self._join("build", build)
        self.announced = {"login_url": answer.get("login_url")}
        self._announce_state()
        self._greet(answer)
        if self.order.timings:
            self.progress.write(self.order.timings)

    def _migrated(self) -> bool:
        """Whether the embedded database is at the newest migration: spares a start of Alembic."""
        postgres = self.supervisor.engines.get("postgresql")
        if not isinstance(postgres, Postgres):
            return False
        files = sorted((ROOT / "migrations" / "versions").glob("[0-9]*_*.py"))
        tables = postgres.ask("SELECT to_regclass('alembic_version')")
        at = postgres.ask("SELECT version_num FROM alembic_version") if tables else ""
        return bool(files) and at == files[-1].name.split("_", 1)[0]

    def _beside(self, command: str) -> subprocess.Popen[bytes]:
        """A step of ours that takes long and needs nothing of the others, in a process of its own."""
        line = (str(PYTHON), "-P", "-m", "culprit.launch", command)
        return self.supervisor.begin(command, line, show=True, **{BEGAN: repr(self.progress.began)})

    def _join(self, command: str, child: subprocess.Popen[bytes] | None) -> None:
        """Wait for such a step; its seconds overlap with those of the others. Raises Died."""
        if child is None:
            return
        started = time.monotonic()
        self.supervisor.finish(command, child)
        self.progress.took(f"waiting for {command}", time.monotonic() - started)
        file = self.home.path / f"{command}.json"
        if file.exists():
            for name, seconds in json.loads(file.read_text("utf-8"))["phases"].items():
                self.progress.phases[f"{name} (beside the others)"] = seconds
            file.unlink()

    def _engines(self) -> None:
        env = self.supervisor.env
        given = (("PostgreSQL", env.get("DATABASE_URL")), ("Valkey", env.get("REDIS_URL")))
        ours = " and ".join(name for name, url in given if not url)
        with self.progress.phase("engines", f"Starting {ours}" if ours else "Using the engines that are set"):
            if not env.get("DATABASE_URL"):
                postgres = Postgres(self.home.postgres)
                postgres.start()
                self.supervisor.engines["postgresql"] = postgres
                env["DATABASE_URL"] = postgres.url
            if not env.get("REDIS_URL"):
                valkey = Valkey(self.home.valkey)
                valkey.start()
                self.supervisor.engines["valkey"] = valkey
                env["REDIS_URL"] = valkey.url

    def _on_change(self, part: Part, change: Change) -> None:
        """Say what happened to a part. A full disk or a closed terminal must not end the supervisor."""
        with contextlib.suppress(OSError):
            self._announce_state()
        with contextlib.suppress(OSError):
            self.progress.say(describe_change(part, change))

    def _announce_state(self) -> None:
        document: dict[str, object] = {
            **self.announced,
            "ready": bool(self.announced),
            "parts": {name: part.as_json() for name, part in self.supervisor.parts.items()},
            "url": self.public_url,
            "home": str(self.home.path),
            "warden": self.warden,
            "supervisor": state.own_process(),
            "processes": {name: state.process(pid) for name, pid in self.supervisor.pids().items()},
            "database_url": self.supervisor.env.get("DATABASE_URL") if self.supervisor.engines else None,
            "sockets": [
                str(engine.sockets)
                for engine in self.supervisor.engines.values()
                if isinstance(engine, Postgres | Valkey)
            ],
            "redis_url": self.supervisor.env.get("REDIS_URL")
            if "valkey" in self.supervisor.engines
            else None,
        }
        state.write(self.home, document)

    def _greet(self, answer: dict[str, str | None]) -> None:
        lines = ["", f"Culprit is ready at {self.public_url}"]
        if answer.get("login_url"):
            lines.append(f"First login (once, as admin):  {answer['login_url']}")
        loopback = self.address in {"127.0.0.1", "::1", "localhost"}
        tunnel = machine.tunnel_line(os.environ, machine.who(), self.port) if loopback else None
        if tunnel:
            lines.append(f"From your own machine:  {tunnel}")
        if answer.get("host_id"):
            lines.append("This machine is enrolled as the first host.")
        lines.append("Ctrl-C stops it; ./culprit down --purge removes all data.")
        sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()


def describe_change(part: Part, change: Change) -> str:
    """One line for the terminal: what happened to a part, and what comes next."""
    if change == "stopped":
        return f"{part.name} is stopped on request."
    if change == "recovered":
        return f"{part.name} runs again (restart {part.restarts})."
    pause = 0.0 if part.start_at is None else max(0.0, part.start_at - time.monotonic())
    if change == "ended":
        return f"{part.name}: {part.reason}. Restarting in {pause:.1f} s."
    if part.name in ESSENTIAL:
        return f"{part.name}: {part.reason}. It fails again and again, and nothing works without it."
    return (
        f"{part.name}: {part.reason}. It fails again and again; the platform goes on without it and tries again "
        f"in {pause / 60:.0f} min. See ./culprit status; ./culprit retry tries now."
    )


def bootstrap_options(sshd: local_sshd.Prepared | None) -> tuple[str, ...]:
    """What culprit.bootstrap must know of the private sshd."""
    if sshd is None:
        return ()
    keys = ("--host-key-file", str(sshd.client_key), "--host-public-key-file", str(sshd.host_public_key))
    return ("--host-port", str(sshd.port), "--host-user", sshd.user, *keys)


def secret_key(path: Path) -> Path:
    """The file of the key that seals credentials, made at the first start, readable by its owner alone."""
    if not path.exists():
        fresh = path.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(b64encode(secrets.token_bytes(32)).decode("ascii") + "\n")
        fresh.replace(path)
    return path


def build(_: list[str]) -> int:
    """`culprit.launch build`: the interface. Leaves its seconds in a file. Raises Refusal."""
    progress = Progress(float(os.environ[BEGAN]))
    install.build_frontend(progress)
    progress.write(Home.of(os.environ).path / "build.json")
    return 0


def packages(_: list[str]) -> int:
    """`culprit.launch packages`: what this machine lacks to be a host. Leaves its seconds in a file."""
    progress = Progress(float(os.environ[BEGAN]))
    home = Home.of(os.environ)
    unpacked = Packages(home.packages)
    this_host.fetch(unpacked, this_host.wanted(unpacked), progress)
    progress.write(home.path / "packages.json")
    return 0
