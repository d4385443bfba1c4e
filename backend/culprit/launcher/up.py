"""Command `./culprit up`: from a checkout to a running platform, in the foreground.

The first stage runs under the Python of the machine and installs the locked packages. The second stage runs
under the Python of .venv, below a guardian, and starts everything.
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
from pathlib import Path

from culprit.launcher import services, state
from culprit.launcher.engines import Engine, Postgres, Valkey
from culprit.launcher.install import locked_packages as install
from culprit.launcher.install import native_reader, requirements
from culprit.launcher.install.apt_packages import Packages
from culprit.launcher.local_host import tools as this_host
from culprit.launcher.local_host.sshd import SshdProcess
from culprit.launcher.paths import DIST, PYTHON, ROOT, Home, create_private_file
from culprit.launcher.progress import LauncherError, Progress
from culprit.launcher.supervision import process_guardian
from culprit.launcher.supervision.parts import Change, SupervisedPart
from culprit.launcher.supervision.supervisor import StopRequestedError, Supervisor

DEFAULT_PORT = 8040
STOP_ORDER = ["worker", "scheduler", "api", "sshd"]
# The platform ends if one of these is given up. Without the API, captures on hosts could not be stopped.
ESSENTIAL_PARTS = frozenset({"api", "postgresql"})
# Addresses that mean every interface, and the loopback address of each.
ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not bound


def parse_options(arguments: list[str]) -> argparse.Namespace:
    """Return the options of `./culprit up`."""
    parser = argparse.ArgumentParser(prog="culprit up", description="Start the platform in the foreground.")
    parser.add_argument(
        "--listen", default="127.0.0.1", metavar="ADDR[:PORT]",
        help=f"where to serve (default 127.0.0.1:{DEFAULT_PORT})",
    )  # fmt: skip
    parser.add_argument("--timings", type=Path, metavar="FILE", help="write seconds per phase as JSON")
    parser.add_argument("--no-host", action="store_true", help="do not add this machine as a host")
    return parser.parse_args(arguments)


def list_required_groups() -> list[str]:
    """Return the dependency groups that this machine and environment need."""
    requested = []
    if not (os.environ.get("DATABASE_URL") and os.environ.get("REDIS_URL")):
        requested.append("embedded")
    if requirements.find_system_node() is None and not install.is_frontend_built():
        requested.append("node")
    return requested


def install_platform(arguments: list[str]) -> int:
    """Check the machine, print what will be used, install, and continue under the Python of .venv.

    Raises LauncherError.
    """
    parse_options(arguments)  # report a wrong option before fetching anything
    progress = Progress()
    requirements.check_requirements()
    home = Home.from_environment(os.environ)
    require_not_running(home)
    installed = install.load_installed_groups() is not None
    progress.print_line(
        requirements.describe_needs(ROOT, home.path, installed=installed, has_data=home.postgres.exists())
    )
    install.install_python_packages(list_required_groups(), progress)
    os.environ |= progress.as_environment()
    os.execv(PYTHON, [str(PYTHON), "-P", "-m", "culprit.launcher", "up-installed", *arguments])  # noqa: S606


def require_not_running(home: Home) -> None:
    """Raise LauncherError if a platform already runs over `home`."""
    running = state.read_running(home)
    if running:
        raise LauncherError(f"Culprit is already running at {running['url']}. Stop it with ./culprit down")


def run_platform(arguments: list[str]) -> int:
    """Start everything below a guardian and return the exit code. Raises LauncherError."""
    options = parse_options(arguments)
    home = Home.from_environment(os.environ)
    try:
        home.create_directories()
    except OSError as error:
        raise LauncherError(f"cannot write to {home.path}: {error.strerror}. Set CULPRIT_HOME") from error
    lock = state.hold_lock(home)
    if lock is None:
        require_not_running(home)
        raise LauncherError(f"another ./culprit up is starting over {home.path}")
    state.clear_state(home)
    guardian_pid = os.getpid()
    return process_guardian.run_guarded(lambda: RunningPlatform(options, home, guardian_pid).run())


def run_build(_: list[str]) -> int:
    """Build the frontend, as a process of its own. Raises LauncherError."""
    install.build_frontend(Progress())
    return 0


def run_native(_: list[str]) -> int:
    """Build the native reader of perf.data, as a process of its own. Raises LauncherError."""
    native_reader.install_native_reader(Progress())
    return 0


def run_packages(_: list[str]) -> int:
    """Unpack missing tools, as a process of its own."""
    packages = Packages(Home.from_environment(os.environ).packages)
    this_host.unpack_tools(packages, this_host.list_tools_to_unpack(packages), Progress())
    return 0


class RunningPlatform:
    """One running platform, from its first engine to its last process."""

    def __init__(self, options: argparse.Namespace, home: Home, guardian_pid: int) -> None:
        self.options = options
        self.home = home
        self.progress = Progress()
        self.guardian = state.describe_process(guardian_pid)
        self.packages = Packages(home.packages)
        self.address, self.port, self.public_url = self._resolve_listen()
        self.announced: dict[str, str | None] = {}
        self.engines: list[Engine] = []
        self.supervisor = Supervisor(
            home.logs,
            services.build_process_environment(os.environ, **self._build_settings()),
            ESSENTIAL_PARTS,
            self._report_change,
        )

    def run(self) -> int:
        """Start, watch, stop; return the exit code."""
        supervisor = self.supervisor
        supervisor.listen_to_signals()
        code = 1
        try:
            self._start_platform()
            supervisor.watch_parts(services.WORKERS)
        except StopRequestedError:
            sys.stdout.write("\n")
            self.progress.print_line("Stopping …")
            code = 0
        except LauncherError as error:
            sys.stderr.write(f"culprit: {error}\nculprit: logs are in {self.home.logs}\n")
        finally:
            supervisor.stop_all(STOP_ORDER)
            state.clear_state(self.home)
        self.progress.print_line(
            "Stopped; no process is left running." if code == 0 else "All processes are stopped."
        )
        return code

    # -- starting --------------------------------------------------------------------------------------

    def _resolve_listen(self) -> tuple[str, int, str]:
        address, requested, supplied = requirements.parse_listen(self.options.listen, DEFAULT_PORT)
        port = requirements.find_free_port(address, requested, tries=1 if supplied else 50)
        if port is None:
            raise LauncherError(
                f"cannot listen on {address}:{requested}. Choose another address with --listen ADDR:PORT"
            )
        displayed = requirements.find_outward_address() if address in ANY_ADDRESS else address
        displayed = f"[{displayed}]" if ":" in displayed else displayed
        return address, port, os.environ.get("CULPRIT_PUBLIC_URL") or f"http://{displayed}:{port}"

    def _build_settings(self) -> dict[str, str]:
        own = {"CULPRIT_HOME": str(self.home.path), "CULPRIT_PUBLIC_URL": self.public_url}
        own["CULPRIT_UI_DIR"] = os.environ.get("CULPRIT_UI_DIR", str(DIST))
        if not os.environ.get("CULPRIT_SECRET_KEY") and not os.environ.get("CULPRIT_SECRET_KEY_FILE"):
            own["CULPRIT_SECRET_KEY_FILE"] = str(ensure_secret_key(self.home.secret_key))
        return own

    def _start_platform(self) -> None:
        self._announce_state()
        build = None if install.is_frontend_built() else self._start_parallel("build")
        lacking = not self.options.no_host and this_host.list_tools_to_unpack(self.packages)
        packages = self._start_parallel("packages") if lacking else None
        self._start_engines()
        if not self._is_migrated():
            with self.progress.phase("migrations", "Migrating the database"):
                self.supervisor.await_command(
                    "migrate", self.supervisor.start_command("migrate", services.MIGRATE)
                )
        self._await_step("packages", packages)
        sshd = None
        if not self.options.no_host:
            sshd = this_host.start_private_sshd(self.home.sshd, self.packages, self.supervisor, self.progress)
        with self.progress.phase("services", "Starting API, workers and scheduler"):
            for service in services.list_services(self.address, self.port):
                self.supervisor.start(service)
            self._announce_state()
            bootstrap = self.supervisor.start_command(
                "bootstrap", (*services.BOOTSTRAP, *list_bootstrap_options(sshd))
            )
            answer = json.loads(self.supervisor.await_command("bootstrap", bootstrap))
            self.supervisor.wait_ready(ANY_ADDRESS.get(self.address, self.address), self.port)
        self._await_step("build", build)
        self.announced = {"login_url": answer.get("login_url")}
        self._announce_state()
        self._print_welcome(answer)
        if not native_reader.is_installed():
            self._start_parallel("native")
        if self.options.timings:
            self.progress.write(self.options.timings)

    def _start_parallel(self, command: str) -> subprocess.Popen[bytes]:
        """Start a slow, independent step in its own process."""
        line = (str(PYTHON), "-P", "-m", "culprit.launcher", command)
        return self.supervisor.start_command(command, line, show=True, **self.progress.as_environment())

    def _await_step(self, command: str, child: subprocess.Popen[bytes] | None) -> None:
        """Wait for such a step, which overlaps with others. Raises ServiceDiedError."""
        if child is not None:
            started = time.monotonic()
            self.supervisor.await_command(command, child)
            self.progress.record_phase(f"waiting for {command}", time.monotonic() - started)

    def _start_engines(self) -> None:
        env = self.supervisor.env
        if not env.get("DATABASE_URL"):
            self.engines.append(Postgres(self.home.postgres))
        if not env.get("REDIS_URL"):
            self.engines.append(Valkey(self.home.valkey))
        names = " and ".join(engine.title for engine in self.engines)
        with self.progress.phase("engines", f"Starting {names}" if names else "Using the configured engines"):
            for engine in self.engines:
                engine.start()
                self.supervisor.processes[engine.name] = engine
                env[engine.variable] = engine.url

    def _is_migrated(self) -> bool:
        """Return whether the embedded database is at the newest migration, which saves a start of Alembic."""
        postgres = self.supervisor.processes.get("postgresql")
        if not isinstance(postgres, Postgres):
            return False
        files = sorted((ROOT / "migrations" / "versions").glob("[0-9]*_*.py"))
        tables = postgres.run_query("SELECT to_regclass('alembic_version')")
        at = postgres.run_query("SELECT version_num FROM alembic_version") if tables else ""
        return bool(files) and at == files[-1].name.split("_", 1)[0]

    def _report_change(self, part: SupervisedPart, change: Change) -> None:
        """Print what happened to a part. A full disk or a closed terminal must not end the supervisor."""
        with contextlib.suppress(OSError):
            self._announce_state()
        with contextlib.suppress(OSError):
            self.progress.print_line(describe_change(part, change))

    def _announce_state(self) -> None:
        document: dict[str, object] = {
            **self.announced,
            "ready": bool(self.announced),
            "parts": {name: part.as_json() for name, part in self.supervisor.parts.items()},
            "url": self.public_url,
            "port": self.port,
            "home": str(self.home.path),
            "guardian": self.guardian,
            "supervisor": state.describe_process(os.getpid()),
            "processes": {name: state.describe_process(pid) for name, pid in self.supervisor.pids().items()},
            "sockets": [str(engine.sockets) for engine in self.engines],
            **{engine.variable.lower(): self.supervisor.env.get(engine.variable) for engine in self.engines},
        }
        state.write_state(self.home, document)

    def _print_welcome(self, answer: dict[str, str | None]) -> None:
        lines = ["", f"Culprit is ready at {self.public_url}"]
        if answer.get("login_url"):
            lines.append(f"First login (once, as admin):  {answer['login_url']}")
        tunnel = None
        if self.address in {"127.0.0.1", "::1", "localhost"}:
            tunnel = requirements.format_tunnel_command(os.environ, requirements.current_user(), self.port)
        if tunnel:
            lines.append(f"From your own machine:  {tunnel}")
        if answer.get("host_id"):
            lines.append("This machine was added as the first host.")
        lines.append("Stop with Ctrl-C. Delete all data with ./culprit down --purge.")
        sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()


def describe_change(part: SupervisedPart, change: Change) -> str:
    """Return one line for the terminal: what happened to a part, and what follows."""
    if change == "stopped":
        return f"{part.name} is stopped on request."
    if change == "recovered":
        return f"{part.name} runs again (restart {part.restarts})."
    pause = 0.0 if part.start_at is None else max(0.0, part.start_at - time.monotonic())
    if change == "ended":
        return f"{part.name}: {part.reason}. Restarting in {pause:.1f} s."
    if part.name in ESSENTIAL_PARTS:
        return f"{part.name}: {part.reason}. It failed repeatedly, and the platform needs it."
    return (
        f"{part.name}: {part.reason}. It failed repeatedly. The platform runs without it and tries again "
        f"in {pause / 60:.0f} min. See ./culprit status. To try now, run ./culprit retry."
    )


def list_bootstrap_options(sshd: SshdProcess | None) -> tuple[str, ...]:
    """Return the options of culprit.server.bootstrap for the private sshd."""
    if sshd is None:
        return ()
    keys = ("--host-key-file", str(sshd.client_key), "--host-public-key-file", str(sshd.host_public_key))
    return ("--host-port", str(sshd.port), "--host-user", sshd.user, *keys)


def ensure_secret_key(path: Path) -> Path:
    """Create the file of the key that seals credentials at the first start, readable by its owner only."""
    if not path.exists():
        fresh = path.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        create_private_file(fresh, b64encode(secrets.token_bytes(32)) + b"\n")
        fresh.replace(path)
    return path
