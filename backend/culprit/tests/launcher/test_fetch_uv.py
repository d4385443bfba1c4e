"""uv comes from any index that has it, and from none that changed it."""

from __future__ import annotations

import hashlib
import io
import json
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from culprit.launch import fetch_uv
from culprit.launch.fetch_uv import Wheel
from culprit.launch.progress import Refusal

FILE = "uv-9.9.9-py3-none-manylinux_2_17_x86_64.whl"


def wheel_bytes() -> bytes:
    """A wheel with a script named uv in it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("uv/__init__.py", "")
        archive.writestr("uv-9.9.9.data/scripts/uvx", "wrong")
        archive.writestr("uv-9.9.9.data/scripts/uv", "#!/bin/sh\necho uv 9.9.9\n")
    return buffer.getvalue()


CONTENT = wheel_bytes()
WHEEL = Wheel("9.9.9", FILE, hashlib.sha256(CONTENT).hexdigest())


class Index(BaseHTTPRequestHandler):
    """A package index in several dialects, one per path."""

    def do_GET(self) -> None:
        html = f'<a class="x" href="../../files/{FILE}#sha256=0">{FILE}</a>'.encode()
        document = {"files": [{"filename": "other"}, {"filename": FILE, "url": f"/files/{FILE}"}]}
        answers = {
            "/html/uv/": ("text/html", html),
            "/json/uv/": ("application/vnd.pypi.simple.v1+json", json.dumps(document).encode()),
            "/empty/uv/": ("text/html", b"<p>nothing</p>"),
            "/rubbish/uv/": ("application/json", b"{"),
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
        """Quiet."""


@pytest.fixture(scope="module")
def index() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Index) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("dialect", ["html", "json"])
@pytest.mark.parametrize("name", ["PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX"])
def test_fetches(index: str, dialect: str, name: str, tmp_path: Path) -> None:
    target = tmp_path / "tools" / "uv"
    fetch_uv.fetch(WHEEL, target, {name: f"{index}/{dialect}/"})
    assert target.read_text().endswith("echo uv 9.9.9\n")
    assert target.stat().st_mode & 0o777 == 0o755
    assert [path.name for path in target.parent.iterdir()] == ["uv"]


@pytest.mark.parametrize(
    ("dialect", "words"),
    [
        ("evil", "another SHA-256"),
        ("empty", "does not have"),
        ("rubbish", "cannot fetch"),
        ("none", "Not Found"),
    ],
)
def test_refuses(index: str, dialect: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(Refusal, match=words):
        fetch_uv.fetch(WHEEL, tmp_path / "uv", {"PIP_INDEX_URL": f"{index}/{dialect}"})
    assert not (tmp_path / "uv").exists()


def test_a_login_in_the_address_is_never_shown(tmp_path: Path) -> None:
    with pytest.raises(Refusal) as refusal:
        fetch_uv.fetch(WHEEL, tmp_path / "uv", {"PIP_INDEX_URL": "http://me:secret@127.0.0.1:9/simple"})
    assert "secret" not in str(refusal.value)


def test_only_the_web_is_asked(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="not an address of the web"):
        fetch_uv.fetch(WHEEL, tmp_path / "uv", {"PIP_INDEX_URL": "file:///etc"})


def test_settings_of_pip_are_read(tmp_path: Path) -> None:
    config = tmp_path / "pip.conf"
    cert = tmp_path / "ca.pem"
    cert.write_text("")
    config.write_text(f"[global]\nindex-url = https://mirror.example/simple/\ncert = {cert}\n")
    environment = {"PIP_CONFIG_FILE": str(config), "HOME": str(tmp_path)}
    assert fetch_uv.index_url(environment) == "https://mirror.example/simple"
    assert fetch_uv.certificates(environment) == str(cert)
    assert fetch_uv.index_url({"HOME": str(tmp_path), "UV_DEFAULT_INDEX": "https://a/b/"}) == "https://a/b"


def test_settings_of_pip_may_be_broken(tmp_path: Path) -> None:
    (tmp_path / ".config/pip").mkdir(parents=True)
    (tmp_path / ".config/pip/pip.conf").write_text("no section\n")
    assert fetch_uv.pip_settings({"HOME": str(tmp_path)}).get("index-url") is None


def test_both_processors_are_pinned() -> None:
    for machine in ("x86_64", "aarch64"):
        wheel = fetch_uv.pinned(machine)
        assert machine in wheel.file
        assert wheel.version in wheel.file
        assert len(bytes.fromhex(wheel.sha256)) == 32
