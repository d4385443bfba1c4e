"""Run every role of docker-compose.yml in the built image, as its user, against real engines.

The commands are those of the compose file; buildah runs them with chroot isolation, in the network of this machine.
What an engine of containers adds is not covered: read-only file systems, dropped capabilities, networks of their own.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import signal
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import yaml
from culprit.launcher.paths import PYTHON, ROOT, build_python_path
from culprit.launcher.supervision import child_processes

from tools.checks.containers import go_tools, network_engines
from tools.checks.containers.base_images import BUILDAH, ContainerError, run_buildah

USER_ID = 10001
LONG_RUNNING = ("api", "worker-ssh", "worker-parse", "scheduler")
HEALTHY_S = 180.0
IMPORT_S = 240
STOP_SIGNALS = ((int(signal.SIGTERM), 30.0),)
EXAMPLE = ROOT / "examples" / "busy-host.culprit"


class ImageRoles:
    """The roles of one working container over one set of engines."""

    def __init__(self, container: str, place: Path, environment: Mapping[str, str]) -> None:
        self.container = container
        self.place = place
        self.environment = dict(environment)
        self.port = network_engines.find_port()
        self.services: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))[
            "services"
        ]
        self.home = self._create_directory("home")

    def _create_directory(self, name: str) -> Path:
        path = self.place / name
        path.mkdir()
        os.chown(path, USER_ID, USER_ID)
        path.chmod(0o700)
        return path

    def build_command(self, name: str, *command: str) -> list[str]:
        """Return `command` in the container, with a temporary directory for each name."""
        temporary = self.place / f"tmp-{name}"
        if not temporary.exists():
            self._create_directory(temporary.name)
        options = ["--isolation", "chroot", "--user", f"{USER_ID}:{USER_ID}"]
        options += ["--volume", f"{self.home}:/var/lib/culprit:rw", "--volume", f"{temporary}:/tmp:rw"]
        settings = self.environment | {"CULPRIT_PUBLIC_URL": f"http://127.0.0.1:{self.port}"}
        for key, value in settings.items():
            options += ["--env", f"{key}={value}"]
        return [*BUILDAH, "run", *options, self.container, "--", *command]

    def run_once(self, name: str, *command: str, codes: Sequence[int] = (0,)) -> str:
        """Run a command to its end and return its output. Raises ContainerError."""
        done = subprocess.run(
            self.build_command(name, *command), capture_output=True, text=True, check=False, timeout=300
        )
        if done.returncode not in codes:
            tail = (done.stdout + done.stderr).strip()[-2000:]
            raise ContainerError(f"{name} failed (exit code {done.returncode}):\n{tail}")
        return done.stdout

    def get_compose_command(self, name: str) -> list[str]:
        """Return the command of a service, with a free port."""
        command = [str(part) for part in self.services[name]["command"]]
        replaced = {"8040": str(self.port), "${CULPRIT_TRUSTED_PROXIES:-}": ""}
        return [replaced.get(part, part) for part in command]

    @contextmanager
    def run_role(self, name: str) -> Iterator[subprocess.Popen[bytes]]:
        """Run a service until the end of the block."""
        log = self.place / f"{name}.log"
        with log.open("ab") as output:
            child = child_processes.start_child(
                self.build_command(name, *self.get_compose_command(name)), log=output
            )
        try:
            yield child
        finally:
            child_processes.stop_child(child, STOP_SIGNALS)

    def is_healthy(self, name: str) -> bool:
        """Run the health check that the container of a service has."""
        if name == "api":
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=4).close()
            except OSError:
                return False
            return True
        check = str(self.services[name]["healthcheck"]["test"][1])
        return subprocess.run(
            self.build_command(name, "sh", "-c", check), capture_output=True, check=False, timeout=60
        ).returncode == 0  # fmt: skip

    def read_log(self, name: str) -> str:
        """Return the end of the output of a service."""
        return (self.place / f"{name}.log").read_text("utf-8", "replace")[-1500:]


@contextmanager
def start_engines(place: Path) -> Iterator[dict[str, str]]:
    """Run PostgreSQL, Valkey and the S3 server; yield the settings of the platform. Raises ContainerError."""
    gateway = go_tools.ensure_program("versitygw")
    if gateway is None:
        raise ContainerError("versitygw cannot be built: install Go 1.26 or newer")
    with ExitStack() as stack:
        postgres = stack.enter_context(network_engines.NetworkPostgres(place / "postgres"))
        postgres.create_team_database()
        queue = stack.enter_context(network_engines.run_valkey(place))
        store = stack.enter_context(network_engines.run_versitygw(gateway, place))
        yield {
            "DATABASE_URL": postgres.network_url,
            "REDIS_URL": queue,
            "CULPRIT_SECRET_KEY": base64.b64encode(secrets.token_bytes(32)).decode(),
            "CULPRIT_ALIVE_FILE": "/tmp/alive",  # noqa: S108 - inside the container
            **store,
        }


def check_roles(image: str) -> list[str]:
    """Run all roles; return one line per observation. Raises ContainerError with the log of what failed."""
    lines = []
    with tempfile.TemporaryDirectory(prefix="culprit-roles-") as name, ExitStack() as stack:
        place = Path(name)
        place.chmod(0o755)
        environment = stack.enter_context(start_engines(place))
        container = run_buildah("from", "--pull-never", image)
        stack.callback(run_buildah, "rm", container)
        roles = ImageRoles(container, place, environment)
        lines.append(check_user(roles))
        roles.run_once("migrate", *roles.get_compose_command("migrate"))
        for role in LONG_RUNNING:
            stack.enter_context(roles.run_role(role))
        lines.append(await_healthy(roles))
        answer = json.loads(roles.run_once("bootstrap", "python", "-m", "culprit.server.bootstrap"))
        assert answer["cli_file"] == "/var/lib/culprit/cli.json"
        lines.append(check_installation(roles))
        lines.append(import_example(roles))
    return lines


def check_user(roles: ImageRoles) -> str:
    """Check that the user of the image cannot write to its programs. Raises ContainerError."""
    script = "id -u; touch /app/x /usr/local/bin/x 2>/dev/null && echo writable; test -w /var/lib/culprit && echo home"
    output = roles.run_once("user", "sh", "-c", script).split()
    if output != [str(USER_ID), "home"]:
        raise ContainerError(f"the image runs with other rights than those of user {USER_ID}: {output}")
    return f"user {USER_ID} can write to its data directory only"


def await_healthy(roles: ImageRoles) -> str:
    """Wait until every role passes the health check of its container. Raises ContainerError."""
    began = time.monotonic()
    waiting = list(LONG_RUNNING)
    while waiting:
        waiting = [name for name in waiting if not roles.is_healthy(name)]
        if waiting and time.monotonic() - began > HEALTHY_S:
            logs = "\n".join(f"{name}:\n{roles.read_log(name)}" for name in waiting)
            raise ContainerError(f"not healthy after {HEALTHY_S:.0f} s: {', '.join(waiting)}\n{logs}")
        time.sleep(1.0 if waiting else 0.0)
    return f"{', '.join(LONG_RUNNING)} are healthy after {time.monotonic() - began:.0f} s"


def check_installation(roles: ImageRoles) -> str:
    """Run the checks of an installation in the image until none reports a problem. Raises ContainerError."""
    deadline = time.monotonic() + 60
    while True:
        command = ("python", "-m", "culprit.server.doctor", "--json")
        checks = json.loads(roles.run_once("doctor", *command, codes=(0, 1)))["checks"]
        problems = [f"{item['check']}: {item['message']}" for item in checks if item["state"] == "problem"]
        if not problems:
            break
        if time.monotonic() > deadline:
            raise ContainerError("the image has problems:\n" + "\n".join(problems))
        time.sleep(2)
    warnings = [item["check"] for item in checks if item["state"] == "warning"]
    return f"{len(checks)} checks without a problem; warnings: {', '.join(warnings) or 'none'}"


def import_example(roles: ImageRoles) -> str:
    """Import the example recording through the API and wait until the worker has read it. Raises ContainerError."""
    token = json.loads((roles.home / "cli.json").read_text("utf-8"))["token"]
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": build_python_path(),
        "CULPRIT_URL": f"http://127.0.0.1:{roles.port}",
        "CULPRIT_TOKEN": token,
    }
    command = [str(PYTHON), "-P", "-m", "culprit.cli", "capture", "import", str(EXAMPLE), "--wait", "--json"]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=IMPORT_S
    )
    if done.returncode != 0:
        raise ContainerError(f"the import failed:\n{done.stderr[-1000:]}\n{roles.read_log('worker-parse')}")
    return "the example recording is imported and read"
