"""Install what the lock files name into the checkout: Python packages by uv, the interface by npm.

Both are skipped where a stamp says that exactly this was installed already.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from culprit.launch import children, fetch_uv, machine
from culprit.launch.paths import DIST, FRONTEND, PYTHON, ROOT, TOOLS, VENV, python_path
from culprit.launch.progress import Progress, Refusal

STAMP = VENV / ".culprit-stamp"
DIST_STAMP = DIST / ".culprit-stamp"
# What the interface is built from; tests and stories are not.
FRONTEND_SOURCES = ("package.json", "package-lock.json", "index.html", "vite.config.ts", "tsconfig.json")
FRONTEND_FOLDERS = ("src", "public")
SENTENCES = ROOT / "backend" / "culprit" / "kit" / "sentences"


def digest(files: Iterable[Path], *extra: str) -> str:
    """SHA-256 over names and contents, in order of the names."""
    total = hashlib.sha256("\0".join(extra).encode())
    for file in sorted(files):
        total.update(f"\0{file.relative_to(ROOT)}\0".encode())
        total.update(file.read_bytes())
    return total.hexdigest()


def read_stamp(path: Path) -> str:
    """What was installed last; empty where nothing was."""
    try:
        return path.read_text("ascii").strip()
    except OSError:
        return ""


@contextmanager
def alone(progress: Progress) -> Iterator[None]:
    """One installation into this checkout at a time; others wait, and then find it done."""
    TOOLS.mkdir(exist_ok=True)
    with (TOOLS / "install.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            progress.say("Waiting for another installation into this checkout …")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


# -- Python ---------------------------------------------------------------------------------------------


def tool_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of uv and npm: no download of a Python, the named certificates for both."""
    made = dict(environment) | {"UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1"}
    made.pop("VIRTUAL_ENV", None)
    made["UV_PROJECT_ENVIRONMENT"] = str(VENV)
    named = fetch_uv.certificates(environment)
    if named:
        made.setdefault("SSL_CERT_FILE", named)
        made.setdefault("NODE_EXTRA_CA_CERTS", named)
    return made


def uv_program(progress: Progress) -> Path:
    """uv as uv.json pins it, fetched where it is not there."""
    wheel = fetch_uv.pinned(machine.machine())
    program = TOOLS / f"uv-{wheel.version}" / "uv"
    if not program.exists():
        with progress.phase("uv", f"Fetching uv {wheel.version} (25 MB)"):
            if not fetch_uv.fetch(wheel, program):
                progress.say("no certificates on this machine: uv was checked by its SHA-256 alone")
    return program


def installed_groups() -> set[str] | None:
    """The groups of the lock that are installed besides the server's own packages; None where it changed."""
    lines = read_stamp(STAMP).splitlines()
    if not lines or not PYTHON.exists() or lines[0] != digest([ROOT / "uv.lock", ROOT / "pyproject.toml"]):
        return None
    return set(lines[1].split()) if len(lines) > 1 else set()


def python_packages(groups: list[str], progress: Progress) -> None:
    """`uv sync` of the lock with `groups`; other packages in .venv are left alone. Raises Refusal."""
    installed = installed_groups()
    if installed is None or not installed.issuperset(groups):
        with alone(progress):
            _sync(groups, progress)


def _sync(groups: list[str], progress: Progress) -> None:
    installed = installed_groups()
    if installed is not None and installed.issuperset(groups):
        return
    uv = uv_program(progress)
    environment = tool_environment(os.environ)
    interpreter = str(PYTHON) if PYTHON.exists() else sys.executable
    chosen = [part for group in groups for part in ("--group", group)]
    sync = [str(uv), "sync", "--frozen", "--inexact", "--quiet", "--python", interpreter, *chosen]
    with progress.phase("python packages", f"Installing Python packages ({', '.join(['server', *groups])})"):
        index = fetch_uv.index_url(os.environ)
        if index == fetch_uv.PYPI:
            run(sync, environment, "uv sync")
        else:
            from_mirror(uv, index, interpreter, chosen, environment)
    lock = digest([ROOT / "uv.lock", ROOT / "pyproject.toml"])
    STAMP.write_text(f"{lock}\n{' '.join(sorted((installed or set()) | set(groups)))}\n", "ascii")


def from_mirror(
    uv: Path, index: str, interpreter: str, chosen: list[str], environment: Mapping[str, str]
) -> None:
    """The same packages by name and hash from another index: the lock's addresses are those of pypi.org."""
    export = [str(uv), "export", "--frozen", "--quiet", "--no-emit-project", "--format", "requirements-txt"]
    said = subprocess.run(
        [*export, "--python", interpreter, *chosen],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if said.returncode != 0:
        raise Refusal(f"uv export failed: {said.stderr.strip()[-300:]}")
    requirements = TOOLS / "requirements.txt"
    requirements.write_text(said.stdout, "utf-8")
    if not PYTHON.exists():
        run([str(uv), "venv", "--quiet", "--python", interpreter, str(VENV)], environment, "uv venv")
    install = [str(uv), "pip", "install", "--quiet", "--require-hashes", "--default-index", index]
    run([*install, "--python", str(PYTHON), "-r", str(requirements)], environment, "uv pip install")


def run(command: list[str], environment: Mapping[str, str], what: str, cwd: Path = ROOT) -> None:
    """Run to the end, dying with us. Raises Refusal with the last lines of what it said."""
    done = subprocess.run(
        children.guarded(command), env=environment, cwd=cwd, check=False, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode != 0:
        tail = done.stdout.decode(errors="replace").strip()[-1500:]
        raise Refusal(f"{what} failed (exit code {done.returncode}):\n{tail}")


# -- the interface --------------------------------------------------------------------------------------


def frontend_stamp() -> str:
    """Stands for what the interface is built from."""
    files = [FRONTEND / name for name in FRONTEND_SOURCES]
    files += [f for folder in FRONTEND_FOLDERS for f in (FRONTEND / folder).rglob("*") if f.is_file()]
    files += SENTENCES.glob("*.yaml")
    return digest(f for f in files if f.exists() and ".test." not in f.name)


def frontend_built() -> bool:
    """Whether the stored build is of exactly these sources."""
    return (DIST / "index.html").exists() and read_stamp(DIST_STAMP) == frontend_stamp()


def node_directory() -> Path:
    """Where node and npm are: the system's where they are new enough, else those of the wheel in .venv."""
    return machine.system_node() or VENV / "bin"


def node_environment() -> dict[str, str]:
    """The environment of npm and what it starts."""
    environment = tool_environment(os.environ)
    environment["PATH"] = f"{node_directory()}{os.pathsep}{environment.get('PATH', os.defpath)}"
    return environment | {"npm_config_update_notifier": "false", "npm_config_fund": "false", "CI": "1"}


def npm_ci_command(folder: Path, *, dev: bool) -> list[str]:
    """`npm ci` in `folder`, without scripts of packages."""
    omit = [] if dev else ["--omit=dev"]
    return [
        str(node_directory() / "npm"),
        "--prefix",
        str(folder),
        "ci",
        "--ignore-scripts",
        "--no-audit",
        *omit,
    ]


def npm_satisfied(folder: Path, *, dev: bool) -> bool:
    """Whether node_modules holds what the lock names, by npm's own record of what it installed.

    Optional packages are those of other machines; one for this machine comes with the package that wants it.
    """
    try:
        wanted = json.loads((folder / "package-lock.json").read_text("utf-8"))["packages"]
        have = json.loads((folder / "node_modules" / ".package-lock.json").read_text("utf-8"))["packages"]
    except (OSError, KeyError, json.JSONDecodeError):
        return False
    return all(
        have.get(name, {}).get("version") == entry.get("version")
        for name, entry in wanted.items()
        if name and not entry.get("optional") and (dev or not (entry.get("dev") or entry.get("devOptional")))
    )


def node_modules(folder: Path, progress: Progress, *, dev: bool) -> None:
    """`npm ci` where node_modules lacks something of the lock. Raises Refusal."""
    if not npm_satisfied(folder, dev=dev):
        with alone(progress):
            _npm_ci(folder, progress, dev=dev)


def _npm_ci(folder: Path, progress: Progress, *, dev: bool) -> None:
    if npm_satisfied(folder, dev=dev):
        return
    with progress.phase(f"npm {folder.name}", f"Installing npm packages of {folder.name}"):
        run(npm_ci_command(folder, dev=dev), node_environment(), "npm ci", cwd=folder)


def build_frontend(progress: Progress) -> None:
    """Build the interface where the stored build is not of these sources. Raises Refusal."""
    if (FRONTEND / "package.json").exists() and not frontend_built():
        with alone(progress):
            _npm_ci(FRONTEND, progress, dev=False)
            _build(progress)


def _build(progress: Progress) -> None:
    if frontend_built():
        return
    out = FRONTEND / f"dist.{os.getpid()}"
    vite = FRONTEND / "node_modules" / ".bin" / "vite"
    command = [str(vite), "build", "--outDir", str(out), "--emptyOutDir", "--logLevel", "warn"]
    with progress.phase("interface", "Building the interface"):
        server = dict(os.environ) | {"PYTHONPATH": python_path()}
        run([str(PYTHON), "-m", "culprit.kit.sentences"], server, "the sentences for the interface")
        stamp = frontend_stamp()
        try:
            run(command, node_environment(), "vite build", cwd=FRONTEND)
            (out / DIST_STAMP.name).write_text(stamp, "ascii")
            if DIST.exists():
                DIST.rename(FRONTEND / f"dist.{os.getpid()}.old")
            out.rename(DIST)
        finally:
            for left in FRONTEND.glob(f"dist.{os.getpid()}*"):
                shutil.rmtree(left, ignore_errors=True)
