"""Another local user listens where a collector asks a service, and pretends to be another process or server."""

from __future__ import annotations

import contextlib
import os
import shutil
import string
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from collectors.contract import Script
from collectors.registry import COLLECTORS
from collectors.tests.host.harness import wait_for
from collectors.tests.record_fixtures import run_script
from collectors.tests.recorder import Left

pytestmark = [
    pytest.mark.long(20),
    pytest.mark.skipif(os.geteuid() != 0, reason="acts as root and as another user"),
]
OTHER = 65534
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder of the other user with a path so short that it has room in the name of a process."""
    for name in (first + second for first in string.ascii_letters for second in string.ascii_letters):
        with contextlib.suppress(FileExistsError):
            path = Path("/tmp") / name
            path.mkdir()
            break
    os.chown(path, OTHER, OTHER)
    path.chmod(0o777)
    yield path
    shutil.rmtree(path)


@contextlib.contextmanager
def run_as(uid: int, place: Path, program: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run Python as a user until it has written the file `ready`; it ends with the block."""
    command = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", sys.executable, "-I", "-c"]
    process = subprocess.Popen([*command, program, str(place)])
    try:
        assert wait_for((place / "ready").exists, 20)
        yield process
    finally:
        process.kill()
        process.wait()


def collect(name: str, **env: str) -> Left:
    method = COLLECTORS[name].methods[0]
    assert isinstance(method, Script)
    return run_script(COLLECTORS[name], method, 1, env=env)


def put_tool(place: Path, name: str, text: str) -> str:
    """Put a script before the programs of the host, and return the PATH."""
    tools = place / "bin"
    tools.mkdir(exist_ok=True)
    (tools / name).write_text(f"#!/bin/sh\n{text}\n")
    (tools / name).chmod(0o755)
    return f"{tools}:{PATH}"


#: Its name ends the quotation of `ss` and continues with a path in place of its PID.
NAMED_AS_PATH = r"""
import ctypes, os, socket, sys, time
folder = sys.argv[1]
os.mkfifo(folder + "/maps")
assert ctypes.CDLL(None).prctl(15, f'",pid=..{folder}'.encode(), 0, 0, 0) == 0
server = socket.create_server(("127.0.0.1", 0))
with open(folder + "/port", "w") as file:
    print(server.getsockname()[1], file=file)
open(folder + "/ready", "w")
while True:
    time.sleep(0.01)
    try:
        os.close(os.open(folder + "/maps", os.O_WRONLY | os.O_NONBLOCK))
        open(folder + "/opened", "w")
    except OSError:
        pass
"""


@pytest.mark.skipif(not shutil.which("openssl") or not shutil.which("ss"), reason="needs openssl and ss")
def test_the_name_of_a_listener_is_no_path(place: Path) -> None:
    """A FIFO at that path would hold the program of root."""
    with run_as(OTHER, place, NAMED_AS_PATH):
        port = (place / "port").read_text().strip()
        path = put_tool(place, "ss", f'exec /usr/bin/ss "$@" "sport = :{port}"')
        left = collect("certificates", PATH=path)
    assert left.exit_code == 0 and b"looks=" in left.parts["stdout"]
    assert not (place / "opened").exists()


#: A socket with the name of PostgreSQL's that requests a password without encryption.
REQUESTS_PASSWORD = r"""
import os, socket, struct, sys
folder = sys.argv[1]
server = socket.socket(socket.AF_UNIX)
server.bind(folder + "/.s.PGSQL.5432")
os.chmod(folder + "/.s.PGSQL.5432", 0o777)
server.listen(20)
open(folder + "/ready", "w")
while True:
    peer, _ = server.accept()
    with peer, open(folder + "/received", "ab", 0) as received:
        peer.recv(1000)
        peer.sendall(b"R" + struct.pack("!II", 8, 3))
        received.write(b"answer " + peer.recv(1000))
"""


@pytest.mark.skipif(not shutil.which("psql"), reason="needs psql")
@pytest.mark.parametrize("how", ["file", "environment", "service"])
def test_no_password_of_root_is_sent_to_a_listener(place: Path, tmp_path: Path, how: str) -> None:
    """A host without a user postgres is asked as root, who may keep passwords for psql."""
    path = put_tool(place, "id", 'case "$*" in *postgres*) exit 1 ;; esac\nexec /usr/bin/id "$@"')
    env = {"PATH": path, "HOME": str(tmp_path), "OPT_SOCKET": str(place)}
    (tmp_path / ".pgpass").write_text("*:*:*:*:secret-of-root\n" if how == "file" else "")
    (tmp_path / ".pgpass").chmod(0o600)
    (tmp_path / ".pg_service.conf").write_text("[root]\npassword=secret-of-root\n")
    if how == "environment":
        env["PGPASSWORD"] = "secret-of-root"
    if how == "service":
        env["PGSERVICE"] = "root"
    with run_as(0, place, REQUESTS_PASSWORD):
        left = collect("db_sessions", **env)
        received = (place / "received").read_bytes()
    assert left.exit_code == 69
    assert received.startswith(b"answer ") and b"secret-of-root" not in received
