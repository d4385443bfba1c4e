"""Fetch uv from a package index with nothing but the standard library.

Which file and which SHA-256 is written in uv.json, so the index is trusted for nothing but bytes. Settings of
pip and uv are honoured: index, proxy, certificates.
"""

from __future__ import annotations

import configparser
import hashlib
import html
import io
import json
import os
import re
import ssl
import sys
import urllib.error
import urllib.request
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urldefrag, urljoin, urlsplit

from culprit.launch import machine
from culprit.launch.progress import Refusal

PINNED = Path(__file__).with_name("uv.json")
PYPI = "https://pypi.org/simple"
TIMEOUT_S = 60.0
INDEX_MAX = 64 << 20
WHEEL_MAX = 128 << 20


@dataclass(frozen=True, slots=True)
class Wheel:
    """The one file that is accepted."""

    version: str
    file: str
    sha256: str


def pinned(machine: str) -> Wheel:
    """What uv.json names for `machine`."""
    document = json.loads(PINNED.read_text("utf-8"))
    return Wheel(version=document["version"], **document["wheels"][machine])


def pip_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """`[global]` of pip's files, the later ones on top: /etc/pip.conf, the user's two, PIP_CONFIG_FILE."""
    home = Path(environment.get("HOME", "/nonexistent"))
    config_home = Path(environment.get("XDG_CONFIG_HOME", home / ".config"))
    files: list[str | Path] = ["/etc/pip.conf", home / ".pip/pip.conf", config_home / "pip/pip.conf"]
    if "PIP_CONFIG_FILE" in environment:
        files.append(environment["PIP_CONFIG_FILE"])
    settings: dict[str, str] = {}
    for file in files:
        parser = configparser.RawConfigParser()
        try:
            parser.read(file, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError):
            continue
        for section in ("global", "install"):
            if parser.has_section(section):
                settings |= {name.replace("_", "-"): value for name, value in parser.items(section)}
    return settings


def index_url(environment: Mapping[str, str]) -> str:
    """The index that uv and pip would use, without a slash at the end."""
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"):
        if environment.get(name):
            return environment[name].rstrip("/")
    return pip_settings(environment).get("index-url", PYPI).rstrip("/")


def certificates(environment: Mapping[str, str]) -> str | None:
    """A file of certificates that was named, else None for the system's."""
    for name in ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        if environment.get(name) and Path(environment[name]).is_file():
            return environment[name]
    named = pip_settings(environment).get("cert")
    return named if named and Path(named).is_file() else None


def tls_context(environment: Mapping[str, str]) -> tuple[ssl.SSLContext, bool]:
    """(context, whether it verifies). A machine without any certificate cannot verify: see `fetch`."""
    named = certificates(environment)
    context = ssl.create_default_context(cafile=named)
    defaults = ssl.get_default_verify_paths()
    directory = Path(defaults.capath) if defaults.capath else None
    has_some = bool(context.get_ca_certs()) or (directory is not None and any(directory.glob("*.0")))
    if has_some or named:
        return context, True
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context, False


def opener(environment: Mapping[str, str]) -> tuple[urllib.request.OpenerDirector, bool]:
    """What opens URLs by the environment's and pip's settings, and whether it verifies TLS."""
    context, verified = tls_context(environment)
    handlers: list[urllib.request.BaseHandler] = [urllib.request.HTTPSHandler(context=context)]
    proxy = environment.get("PIP_PROXY") or pip_settings(environment).get("proxy")
    if proxy:
        handlers.append(urllib.request.ProxyHandler({"http": proxy, "https": proxy}))
    return urllib.request.build_opener(*handlers), verified


def file_url(page: bytes, content_type: str, page_url: str, file: str) -> str | None:
    """The address of `file` on an index page, JSON (PEP 691) or HTML (PEP 503); None where there is none."""
    text = page.decode("utf-8", "replace")
    if "json" in content_type:
        files = json.loads(text).get("files", [])
        found = next((one["url"] for one in files if one.get("filename") == file), None)
    else:
        links = re.findall(r"""<a\s[^>]*?href\s*=\s*["']([^"']+)["']""", text, re.I)
        names = ((urldefrag(html.unescape(link))[0], link) for link in links)
        found = next((url for url, _ in names if urlsplit(url).path.rsplit("/", 1)[-1] == file), None)
    return urldefrag(urljoin(page_url, found))[0] if found else None


def fetch(wheel: Wheel, target: Path, environment: Mapping[str, str] | None = None) -> bool:
    """Put the executable of `wheel` at `target`; returns whether TLS was verified.

    Without a single certificate on the machine the download is still safe, by its SHA-256; only a login in
    the index's address would be shown to whoever listens, which is refused. Raises Refusal.
    """
    environment = os.environ if environment is None else environment
    index = index_url(environment)
    open_url, verified = opener(environment)
    if not verified and urlsplit(index).username:
        raise Refusal("no certificates to check the index with: apt-get install ca-certificates")
    page_url = f"{index}/uv/"
    headers = {"Accept": "application/vnd.pypi.simple.v1+json, text/html;q=0.5", "User-Agent": "culprit"}
    if urlsplit(index).scheme not in {"http", "https"}:
        raise Refusal(f"the index {without_login(index)} is not an address of the web")
    asked = urllib.request.Request(page_url, headers=headers)  # noqa: S310 - the scheme is checked above
    try:
        with open_url.open(asked, timeout=TIMEOUT_S) as answer:
            page, kind = answer.read(INDEX_MAX), answer.headers.get("Content-Type", "")
        url = file_url(page, kind, page_url, wheel.file)
        if url is None and "json" in kind:  # an index that says JSON and sends something else
            url = file_url(page, "text/html", page_url, wheel.file)
        if url is None:
            raise Refusal(f"{without_login(index)} does not have {wheel.file}")
        with open_url.open(url, timeout=TIMEOUT_S) as answer:
            content = answer.read(WHEEL_MAX)
    except (OSError, urllib.error.URLError, json.JSONDecodeError) as error:
        reason = getattr(error, "reason", error)
        raise Refusal(f"cannot fetch uv from {without_login(index)}: {reason}") from error
    if hashlib.sha256(content).hexdigest() != wheel.sha256:
        raise Refusal(f"{without_login(index)} sent a {wheel.file} with another SHA-256 than uv.json names")
    unpack(content, target)
    return verified


def unpack(content: bytes, target: Path) -> None:
    """The member `…/scripts/uv` of the wheel becomes `target`, executable."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        member = next(name for name in archive.namelist() if name.endswith(".data/scripts/uv"))
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f"uv.{os.getpid()}.partial")
        partial.write_bytes(archive.read(member))
    partial.chmod(0o755)
    partial.rename(target)


def without_login(url: str) -> str:
    """The address without the user and password that may stand in it."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


if __name__ == "__main__":
    fetch(pinned(machine.machine()), Path(sys.argv[1]))
