"""`./culprit backup DIR|FILE [--drill] [--key-to FILE]`, `./culprit restore FILE [--key FILE] [--drill]` and
`./culprit login-link [NAME]`.

Finds the database, or starts it where the platform stands still; the work is done by `culprit.backup` and
`culprit.bootstrap`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from culprit.launch import services, state
from culprit.launch.engines import EngineError, Postgres
from culprit.launch.paths import PYTHON, Home
from culprit.launch.progress import Refusal

MODULE = "culprit.backup"
SUFFIX = ".culprit-backup"
STORE = ("S3_BUCKET", "S3_ENDPOINT", "S3_REGION", "S3_ACCESS_KEY_ID", "S3_SECRET_ACCESS_KEY")


def backup(arguments: list[str]) -> int:
    """Make a backup, while the platform runs or stands still. Raises Refusal."""
    parser = argparse.ArgumentParser(
        prog="culprit backup",
        description="Database and artifacts as one checked file, taken while the platform runs. In a directory, "
        "artifacts are kept once for all its backups. The key that opens stored credentials is not part of it.",
    )
    parser.add_argument("target", type=Path, help=f"a directory, or a new file as in monday{SUFFIX}")
    parser.add_argument(
        "--drill", action="store_true", help="restore it elsewhere at once and prove it whole"
    )
    parser.add_argument("--key-to", type=Path, metavar="FILE", help="write the key there, to keep it apart")
    given = parser.parse_args(arguments)
    home = Home.of(os.environ)
    target = given.target.resolve()
    before = set(target.glob(f"*{SUFFIX}")) if target.is_dir() else set()
    with _database(home, existing=True) as env:
        code = _run(env, "make", str(target))
    if code not in {0, 3}:
        return code
    if given.key_to is not None:
        _write_key(home, given.key_to)
    if given.drill:
        made = next(iter(set(target.glob(f"*{SUFFIX}")) - before)) if target.is_dir() else target
        return drill(made) or code
    return code


def restore(arguments: list[str]) -> int:
    """Restore into an empty platform, which must not run; or with --drill into nothing. Raises Refusal."""
    parser = argparse.ArgumentParser(
        prog="culprit restore",
        description="Puts a backup into an empty platform (a fresh CULPRIT_HOME, or an empty DATABASE_URL).",
    )
    parser.add_argument("file", type=Path, help=f"a *{SUFFIX}")
    parser.add_argument("--key", type=Path, metavar="FILE", help="the key that opens its credentials")
    parser.add_argument("--drill", action="store_true", help="restore elsewhere, prove it whole, remove that")
    given = parser.parse_args(arguments)
    file = given.file.resolve()
    if not file.is_file():
        raise Refusal(f"there is no file {given.file}")
    if given.drill:
        return drill(file)
    home = Home.of(os.environ)
    known = state.read(home)
    if known and state.lives(known.get("supervisor")):
        raise Refusal("this platform runs, and is not empty: restore with a fresh CULPRIT_HOME")
    home.make()
    if given.key is not None:
        _place_key(home, given.key)
    with _database(home, existing=False) as env:
        return _run(env, "restore", str(file))


def login_link(arguments: list[str]) -> int:
    """Print a login link for an account that lost its password. Raises Refusal.

    Access to the database is what permits this: no API token can.
    """
    parser = argparse.ArgumentParser(
        prog="culprit login-link",
        description="Prints a link that logs in once and asks for a new password. The old password and all sessions "
        "of the account end. Runs on the machine of the platform; elsewhere, an admin creates a link under "
        "Settings, Accounts.",
    )
    parser.add_argument("name", nargs="?", default="admin", help="the account (default: admin)")
    given = parser.parse_args(arguments)
    home = Home.of(os.environ)
    known = state.read(home) or {}
    with _database(home, existing=True) as env:
        if known.get("url"):
            env.setdefault("CULPRIT_PUBLIC_URL", str(known["url"]))
        command = [str(PYTHON), "-P", "-m", "culprit.bootstrap", "--login-link", given.name]
        return subprocess.run(command, env=env, check=False).returncode


def drill(file: Path) -> int:
    """Restore into a scratch directory with an engine of its own, look at it, and remove it."""
    real = Home.of(os.environ)
    with tempfile.TemporaryDirectory(prefix="culprit-drill-") as place:
        scratch = Home(Path(place) / "home")
        scratch.make()
        engine = Postgres(scratch.postgres, durable=False)
        try:
            engine.start()
            env = _environment(os.environ, scratch, engine.url)
            if "CULPRIT_SECRET_KEY" not in env and real.secret_key.exists():
                env.setdefault("CULPRIT_SECRET_KEY_FILE", str(real.secret_key))
            for name in STORE:
                env.pop(name, None)
            return _run(env, "restore", str(file), "--drill")
        except EngineError as error:
            raise Refusal(str(error)) from error
        finally:
            engine.stop()
            engine.remove()


@contextmanager
def _database(home: Home, *, existing: bool) -> Iterator[dict[str, str]]:
    """The environment of a process that works on the database: a given one, the running one, or ours for so long."""
    with ExitStack() as stack:
        url = os.environ.get("DATABASE_URL")
        known = state.read(home)
        if not url and known and state.lives(known.get("supervisor")):
            url = known.get("database_url")
        if not url:
            if existing and not home.postgres.exists():
                raise Refusal(f"there is no platform in {home.path}; set CULPRIT_HOME or DATABASE_URL")
            lock = state.hold(home)
            if lock is None:
                raise Refusal(f"another ./culprit works on {home.path}")
            stack.callback(lock.close)
            engine = Postgres(home.postgres)
            stack.callback(engine.stop)
            try:
                engine.start()
            except EngineError as error:
                raise Refusal(str(error)) from error
            url = engine.url
        yield _environment(os.environ, home, url)


def _environment(base: Mapping[str, str], home: Home, url: str) -> dict[str, str]:
    own = {"CULPRIT_HOME": str(home.path), "DATABASE_URL": url}
    if (
        "CULPRIT_SECRET_KEY" not in base
        and "CULPRIT_SECRET_KEY_FILE" not in base
        and home.secret_key.exists()
    ):
        own["CULPRIT_SECRET_KEY_FILE"] = str(home.secret_key)
    return services.environment(base, **own)


def _run(env: Mapping[str, str], *arguments: str) -> int:
    return subprocess.run(
        [str(PYTHON), "-P", "-m", MODULE, *arguments], env=dict(env), check=False
    ).returncode


def _key_file(home: Home) -> Path | None:
    given = os.environ.get("CULPRIT_SECRET_KEY_FILE")
    place = Path(given) if given else home.secret_key
    return place if place.is_file() else None


def _write_key(home: Home, place: Path) -> None:
    source = _key_file(home)
    if source is None:
        raise Refusal("the key is not in a file here: copy CULPRIT_SECRET_KEY from where you set it")
    with (
        os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out,
        source.open("rb") as key,
    ):
        shutil.copyfileobj(key, out)


def _place_key(home: Home, source: Path) -> None:
    """The key where `up` looks for it. Another one that is there stays. Raises Refusal."""
    try:
        text = source.read_bytes()
    except OSError as error:
        raise Refusal(f"cannot read {source}: {error.strerror}") from error
    if home.secret_key.exists():
        if home.secret_key.read_bytes().strip() != text.strip():
            raise Refusal(f"{home.secret_key} holds another key, which is not overwritten")
        return
    with os.fdopen(os.open(home.secret_key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        out.write(text)
