"""Install the locked packages into the checkout: Python packages with uv, the frontend with npm.

Stamp files record what is installed, so that both steps are skipped if nothing changed.
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

from culprit.launcher.install import fetch_uv
from culprit.launcher.install import requirements as machine
from culprit.launcher.paths import DIST, FRONTEND, PYTHON, ROOT, TOOLS, VENV, build_python_path
from culprit.launcher.progress import LauncherError, Progress
from culprit.launcher.supervision import child_processes

STAMP = VENV / ".culprit-stamp"
DIST_STAMP = DIST / ".culprit-stamp"
LOCK_FILES = (ROOT / "uv.lock", ROOT / "pyproject.toml")
# Sources of the frontend build, without tests.
FRONTEND_SOURCES = ("package.json", "package-lock.json", "index.html", "vite.config.ts", "tsconfig.json")
FRONTEND_FOLDERS = (FRONTEND / "src", FRONTEND / "public")


def hash_files(files: Iterable[Path]) -> str:
    """Return the SHA-256 of names and contents, ordered by name."""
    total = hashlib.sha256()
    for file in sorted(files):
        total.update(f"\0{file.relative_to(ROOT)}\0".encode())
        total.update(file.read_bytes())
    return total.hexdigest()


def read_stamp(path: Path) -> list[str]:
    """Return the lines of the stamp, none without one."""
    try:
        return path.read_text("ascii").splitlines()
    except OSError:
        return []


@contextmanager
def hold_install_lock(progress: Progress) -> Iterator[None]:
    """Allow one installation into this checkout at a time; other processes wait."""
    TOOLS.mkdir(exist_ok=True)
    with (TOOLS / "install.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            progress.print_line("Waiting for another installation into this checkout …")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run_command(command: list[str], environment: Mapping[str, str], what: str, cwd: Path = ROOT) -> str:
    """Run a command that dies with this process and return its output.

    Raises LauncherError with the end of its messages.
    """
    done = subprocess.run(
        child_processes.guard_command(command), env=environment, cwd=cwd, check=False, stdin=subprocess.DEVNULL,
        capture_output=True,
    )  # fmt: skip
    if done.returncode != 0:
        tail = (done.stdout + done.stderr).decode(errors="replace").strip()[-1500:]
        raise LauncherError(f"{what} failed (exit code {done.returncode}):\n{tail}")
    return done.stdout.decode()


# -- Python ---------------------------------------------------------------------------------------------


def build_tool_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of uv and npm: no Python downloads, and the configured certificates."""
    result = dict(environment) | {"UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1"}
    result.pop("VIRTUAL_ENV", None)
    named = fetch_uv.find_certificates(environment)
    if named:
        result.setdefault("SSL_CERT_FILE", named)
        result.setdefault("NODE_EXTRA_CA_CERTS", named)
    return result


def ensure_uv(progress: Progress) -> Path:
    """Return the pinned uv, fetched if necessary."""
    program = TOOLS / f"uv-{fetch_uv.UV_VERSION}" / "uv"
    if not program.exists():
        with progress.phase("uv", f"Fetching uv {fetch_uv.UV_VERSION} (25 MB)"):
            wheel = fetch_uv.WHEELS[machine.get_architecture()]
            if not fetch_uv.fetch_program(wheel, program):
                progress.print_line("no certificates on this machine: uv was verified by its SHA-256 only")
    return program


def load_installed_groups() -> set[str] | None:
    """Return the installed dependency groups, or None if the lock changed."""
    lines = read_stamp(STAMP)
    if not lines or not PYTHON.exists() or lines[0] != hash_files(LOCK_FILES):
        return None
    return set(" ".join(lines[1:]).split())


def has_groups(groups: list[str]) -> bool:
    """Return whether the locked packages of `groups` are installed."""
    installed = load_installed_groups()
    return installed is not None and installed.issuperset(groups)


def install_python_packages(groups: list[str], progress: Progress) -> None:
    """Install the server's packages and those of `groups`, by the hashes of the lock. Others are kept.

    The lock contains addresses of pypi.org; uv finds the same files on another index by their hashes.
    Raises LauncherError.
    """
    if has_groups(groups):
        return
    with hold_install_lock(progress):
        if has_groups(groups):  # another process installed them
            return
        uv = str(ensure_uv(progress))
        environment = build_tool_environment(os.environ)
        chosen = [part for group in groups for part in ("--group", group)]
        locked, python = TOOLS / "requirements.txt", ["--quiet", "--python", str(PYTHON)]
        with progress.phase(
            "python packages", f"Installing Python packages ({', '.join(['server', *groups])})"
        ):
            if not PYTHON.exists():
                run_command(
                    [uv, "venv", "--quiet", "--python", sys.executable, str(VENV)], environment, "uv venv"
                )
            export = [uv, "export", "--frozen", "--no-emit-project", *python, *chosen]
            locked.write_text(run_command(export, environment, "uv export"), "utf-8")
            install = [uv, "pip", "install", *python, "--require-hashes", "-r", str(locked)]
            index = fetch_uv.get_index_url(os.environ)
            run_command([*install, "--default-index", index], environment, "uv pip install")
        names = " ".join(sorted({*groups, *(load_installed_groups() or ())}))
        STAMP.write_text(f"{hash_files(LOCK_FILES)}\n{names}\n", "ascii")


# -- frontend -------------------------------------------------------------------------------------------


def compute_frontend_stamp() -> str:
    """Return a hash of the sources of the frontend."""
    files = [FRONTEND / name for name in FRONTEND_SOURCES]
    files += [file for folder in FRONTEND_FOLDERS for file in folder.rglob("*") if file.suffix != ".pyc"]
    return hash_files(file for file in files if file.is_file() and ".test." not in file.name)


def is_frontend_built() -> bool:
    """Return whether the stored build is of these sources."""
    return (DIST / "index.html").exists() and read_stamp(DIST_STAMP) == [compute_frontend_stamp()]


def build_node_environment() -> dict[str, str]:
    """Return the environment of npm, with the Node of the system if new enough, else of the wheel in .venv."""
    environment = build_tool_environment(os.environ)
    node = machine.find_system_node() or VENV / "bin"
    environment["PATH"] = f"{node}{os.pathsep}{environment.get('PATH', os.defpath)}"
    return environment | {"npm_config_update_notifier": "false", "npm_config_fund": "false", "CI": "1"}


def has_npm_packages(folder: Path, *, dev: bool) -> bool:
    """Return whether node_modules contains what the lock names, by npm's own record.

    Missing optional packages are accepted: they are for other machines.
    """
    try:
        packages = json.loads((folder / "package-lock.json").read_text("utf-8"))["packages"]
        have = json.loads((folder / "node_modules" / ".package-lock.json").read_text("utf-8"))["packages"]
    except (OSError, KeyError, json.JSONDecodeError):
        return False
    return all(
        have.get(name, {}).get("version") == entry.get("version")
        for name, entry in packages.items()
        if name and not entry.get("optional") and (dev or not (entry.get("dev") or entry.get("devOptional")))
    )


def install_node_modules(folder: Path, progress: Progress, *, dev: bool) -> None:
    """Run `npm ci`, without scripts of packages, if node_modules is incomplete. Raises LauncherError."""
    with hold_install_lock(progress):
        if has_npm_packages(folder, dev=dev):
            return
        command = ["npm", "ci", "--ignore-scripts", "--no-audit", *([] if dev else ["--omit=dev"])]
        with progress.phase(f"npm {folder.name}", f"Installing npm packages of {folder.name}"):
            run_command(command, build_node_environment(), "npm ci", cwd=folder)


def build_frontend(progress: Progress) -> None:
    """Build the frontend if the stored build is outdated. Raises LauncherError."""
    install_node_modules(FRONTEND, progress, dev=False)
    with hold_install_lock(progress):
        if is_frontend_built():
            return
        out, old = (FRONTEND / f"dist.{os.getpid()}{suffix}" for suffix in ("", ".old"))
        vite = [str(FRONTEND / "node_modules/.bin/vite"), "build", "--outDir", str(out), "--emptyOutDir"]
        with progress.phase("interface", "Building the frontend"):
            server = dict(os.environ) | {"PYTHONPATH": build_python_path()}
            messages = [str(PYTHON), "-m", "culprit.domain.messages"]
            run_command(messages, server, "the messages of the frontend")
            stamp = compute_frontend_stamp()
            try:
                run_command(
                    [*vite, "--logLevel", "warn"], build_node_environment(), "vite build", cwd=FRONTEND
                )
                (out / DIST_STAMP.name).write_text(stamp, "ascii")
                if DIST.exists():
                    DIST.rename(old)
                out.rename(DIST)
            finally:
                shutil.rmtree(out, ignore_errors=True)
                shutil.rmtree(old, ignore_errors=True)
