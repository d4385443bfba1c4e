"""Commands `backup DIR|FILE [--drill] [--key-to FILE]`, `restore FILE [--key FILE] [--drill]` and `login-link
[NAME]`.

They use the running database or start one. `culprit.server.backup` and `culprit.server.bootstrap` do the
work.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from culprit.launcher import services, state
from culprit.launcher.engines import Postgres
from culprit.launcher.paths import PYTHON, Home, create_private_file
from culprit.launcher.progress import LauncherError

MODULE = "culprit.server.backup"
SUFFIX = ".culprit-backup"
STORE = ("S3_BUCKET", "S3_ENDPOINT", "S3_REGION", "S3_ACCESS_KEY_ID", "S3_SECRET_ACCESS_KEY")


def run_backup(arguments: list[str]) -> int:
    """Create a backup, whether the platform runs or not. Raises LauncherError."""
    parser = argparse.ArgumentParser(
        prog="culprit backup",
        description="Store the database and the artifacts as one verified file. The platform may run. In a directory, "
        "artifacts are stored once for all backups. The key of stored credentials is not part of a backup.",
    )
    parser.add_argument("target", type=Path, help=f"a directory, or a new file such as monday{SUFFIX}")
    parser.add_argument(
        "--drill", action="store_true", help="restore the backup into a scratch directory and verify it"
    )
    parser.add_argument(
        "--key-to", type=Path, metavar="FILE", help="write the key to this file, to store it separately"
    )
    args = parser.parse_args(arguments)
    home = Home.from_environment(os.environ)
    target = args.target.resolve()
    before = set(target.glob(f"*{SUFFIX}")) if target.is_dir() else set()
    with _open_database(home, existing=True) as env:
        code = _run_module(env, "make", str(target))
    if code not in {0, 3}:
        return code
    if args.key_to is not None:
        _write_key(home, args.key_to)
    if args.drill:
        new_target = next(iter(set(target.glob(f"*{SUFFIX}")) - before)) if target.is_dir() else target
        return run_drill(new_target) or code
    return code


def run_restore(arguments: list[str]) -> int:
    """Restore into an empty platform that does not run, or with --drill into a scratch directory.

    Raises LauncherError.
    """
    parser = argparse.ArgumentParser(
        prog="culprit restore",
        description="Restore a backup into an empty platform (a fresh CULPRIT_HOME, or an empty DATABASE_URL).",
    )
    parser.add_argument("file", type=Path, help=f"a *{SUFFIX}")
    parser.add_argument("--key", type=Path, metavar="FILE", help="the key of its credentials")
    parser.add_argument(
        "--drill", action="store_true", help="restore into a scratch directory, verify and delete it"
    )
    args = parser.parse_args(arguments)
    file = args.file.resolve()
    if not file.is_file():
        raise LauncherError(f"{args.file}: file not found")
    if args.drill:
        return run_drill(file)
    home = Home.from_environment(os.environ)
    if state.read_running(home):
        raise LauncherError("this platform runs and is not empty: restore with a fresh CULPRIT_HOME")
    home.create_directories()
    if args.key is not None:
        _install_key(home, args.key)
    with _open_database(home, existing=False) as env:
        return _run_module(env, "restore", str(file))


def print_login_link(arguments: list[str]) -> int:
    """Print a login link for an account whose password is lost. Raises LauncherError.

    The command needs access to the database. No API token grants this.
    """
    parser = argparse.ArgumentParser(
        prog="culprit login-link",
        description="Print a link that logs in once and asks for a new password. The old password and all sessions "
        "of the account become invalid. Run it on the machine of the platform, or let an admin create a link under "
        "Settings, Accounts.",
    )
    parser.add_argument("name", nargs="?", default="admin", help="the account (default: admin)")
    args = parser.parse_args(arguments)
    home = Home.from_environment(os.environ)
    known = state.read_state(home) or {}
    with _open_database(home, existing=True) as env:
        if known.get("url"):
            env.setdefault("CULPRIT_PUBLIC_URL", str(known["url"]))
        command = [str(PYTHON), "-P", "-m", "culprit.server.bootstrap", "--login-link", args.name]
        return subprocess.run(command, env=env, check=False).returncode


def run_drill(file: Path) -> int:
    """Restore into a scratch directory with its own engine, verify the result and delete it."""
    real = Home.from_environment(os.environ)
    with tempfile.TemporaryDirectory(prefix="culprit-drill-") as place:
        scratch = Home(Path(place) / "home")
        scratch.create_directories()
        engine = Postgres(scratch.postgres, durable=False)
        try:
            engine.start()
            env = _build_environment(scratch, engine.url, real.secret_key)
            for name in STORE:
                env.pop(name, None)
            return _run_module(env, "restore", str(file), "--drill")
        finally:
            engine.stop()
            engine.remove()


@contextmanager
def _open_database(home: Home, *, existing: bool) -> Iterator[dict[str, str]]:
    """Yield the environment of a process that uses the database.

    The database is an external one, the running one, or one that is started temporarily.
    """
    with ExitStack() as stack:
        url = os.environ.get("DATABASE_URL") or (state.read_running(home) or {}).get("database_url")
        if not url:
            if existing and not home.postgres.exists():
                raise LauncherError(f"no platform in {home.path}: set CULPRIT_HOME or DATABASE_URL")
            lock = state.hold_lock(home)
            if lock is None:
                raise LauncherError(f"another `culprit` command is using {home.path}. Wait for it or stop it")
            stack.callback(lock.close)
            engine = Postgres(home.postgres)
            stack.callback(engine.stop)
            engine.start()
            url = engine.url
        yield _build_environment(home, url, home.secret_key)


def _build_environment(home: Home, url: str, secret_key: Path) -> dict[str, str]:
    own = {"CULPRIT_HOME": str(home.path), "DATABASE_URL": url}
    if not os.environ.keys() & {"CULPRIT_SECRET_KEY", "CULPRIT_SECRET_KEY_FILE"} and secret_key.exists():
        own["CULPRIT_SECRET_KEY_FILE"] = str(secret_key)
    return services.build_process_environment(os.environ, **own)


def _run_module(env: Mapping[str, str], *arguments: str) -> int:
    return subprocess.run(
        [str(PYTHON), "-P", "-m", MODULE, *arguments], env=dict(env), check=False
    ).returncode


def _write_key(home: Home, place: Path) -> None:
    source = Path(os.environ.get("CULPRIT_SECRET_KEY_FILE") or home.secret_key)
    if not source.is_file():
        raise LauncherError("the key is not stored in a file: copy CULPRIT_SECRET_KEY from where you set it")
    create_private_file(place, source.read_bytes())


def _install_key(home: Home, source: Path) -> None:
    """Copy the key to where `up` reads it. An existing other key is kept. Raises LauncherError."""
    try:
        text = source.read_bytes()
    except OSError as error:
        raise LauncherError(f"cannot read {source}: {error.strerror}") from error
    if home.secret_key.exists():
        if home.secret_key.read_bytes().strip() != text.strip():
            raise LauncherError(f"{home.secret_key} contains another key and is not overwritten")
        return
    create_private_file(home.secret_key, text)
