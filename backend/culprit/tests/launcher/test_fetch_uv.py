"""uv is accepted from any index that has it, and refused if the file was changed."""

from __future__ import annotations

import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from culprit.launcher.install import fetch_uv, requirements
from culprit.launcher.install.fetch_uv import Wheel
from culprit.launcher.progress import LauncherError

FILE = "uv-9.9.9-py3-none-manylinux_2_17_x86_64.whl"


def wheel_bytes() -> bytes:
    """Return a wheel that contains a script named uv."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("uv/__init__.py", "")
        archive.writestr("uv-9.9.9.data/scripts/uvx", "wrong")
        archive.writestr("uv-9.9.9.data/scripts/uv", "#!/bin/sh\necho uv 9.9.9\n")
    return buffer.getvalue()


CONTENT = wheel_bytes()
WHEEL = Wheel(FILE, hashlib.sha256(CONTENT).hexdigest())


class Index(BaseHTTPRequestHandler):
    """Several package indexes, one per path."""

    def do_GET(self) -> None:
        html = f'<a class="x" href="../../files/{FILE}#sha256=0">{FILE}</a>'.encode()
        answers = {
            "/html/uv/": ("text/html", html),
            "/empty/uv/": ("text/html", b"<p>nothing</p>"),
            "/rubbish/uv/": ("application/json", b"\xff{"),
            "/evil/uv/": ("text/html", f'<a href="/evil-files/{FILE}">x</a>'.encode()),
            f"/files/{FILE}": ("application/octet-stream", CONTENT),
            f"/evil-files/{FILE}": ("application/octet-stream", CONTENT + b"x"),
        }
        if self.path not in answers:
            self.send_error(404)
            return
        kind, body = answers[self.path]
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Discard the log line."""


@pytest.fixture(scope="module")
def index() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Index) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("name", ["PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX"])
def test_fetches(index: str, name: str, tmp_path: Path) -> None:
    target = tmp_path / "tools" / "uv"
    fetch_uv.fetch_program(WHEEL, target, {name: f"{index}/html/"})
    assert target.read_text().endswith("echo uv 9.9.9\n")
    assert target.stat().st_mode & 0o777 == 0o755
    assert [path.name for path in target.parent.iterdir()] == ["uv"]


@pytest.mark.parametrize(
    ("dialect", "words"),
    [
        ("evil", "differs from the pinned one"),
        ("empty", "does not have"),
        ("rubbish", "does not have"),
        ("none", "Not Found"),
    ],
)
def test_refuses(index: str, dialect: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(LauncherError, match=words):
        fetch_uv.fetch_program(WHEEL, tmp_path / "uv", {"PIP_INDEX_URL": f"{index}/{dialect}"})
    assert not (tmp_path / "uv").exists()


def test_login_in_address_is_never_printed(tmp_path: Path) -> None:
    with pytest.raises(LauncherError) as refusal:
        fetch_uv.fetch_program(
            WHEEL, tmp_path / "uv", {"PIP_INDEX_URL": "http://me:secret@127.0.0.1:9/simple"}
        )
    assert "secret" not in str(refusal.value)


def test_fetch_refuses_addresses_other_than_http(tmp_path: Path) -> None:
    with pytest.raises(LauncherError, match="not an http or https address"):
        fetch_uv.fetch_program(WHEEL, tmp_path / "uv", {"PIP_INDEX_URL": "file:///etc"})


def test_settings_of_pip_are_read(tmp_path: Path) -> None:
    config = tmp_path / "pip.conf"
    cert = tmp_path / "ca.pem"
    cert.write_text("")
    config.write_text(f"[global]\nindex-url = https://mirror.example/simple/\ncert = {cert}\n")
    environment = {"PIP_CONFIG_FILE": str(config), "HOME": str(tmp_path)}
    assert fetch_uv.get_index_url(environment) == "https://mirror.example/simple"
    assert fetch_uv.find_certificates(environment) == str(cert)
    assert (
        fetch_uv.get_index_url({"HOME": str(tmp_path), "UV_DEFAULT_INDEX": "https://a/b/"}) == "https://a/b"
    )


def test_settings_of_pip_may_be_broken(tmp_path: Path) -> None:
    (tmp_path / ".config/pip").mkdir(parents=True)
    (tmp_path / ".config/pip/pip.conf").write_text("no section\n")
    assert fetch_uv.read_pip_settings({"HOME": str(tmp_path)}).get("index-url") is None


def test_both_processors_are_pinned() -> None:
    assert set(fetch_uv.WHEELS) == set(requirements.MACHINES)
    for machine, wheel in fetch_uv.WHEELS.items():
        assert machine in wheel.file
        assert fetch_uv.UV_VERSION in wheel.file
        assert len(bytes.fromhex(wheel.sha256)) == 32
