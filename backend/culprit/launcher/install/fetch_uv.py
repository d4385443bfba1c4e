"""Fetch uv from a package index with the standard library only.

File name and SHA-256 are pinned here, so the index does not need to be trusted. Settings of pip and uv
apply: index, proxy, certificates.
"""

from __future__ import annotations

import configparser
import hashlib
import html
import io
import os
import re
import ssl
import sys
import urllib.request
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urldefrag, urljoin, urlsplit

from culprit.launcher.install import requirements as machine
from culprit.launcher.progress import LauncherError

PYPI = "https://pypi.org/simple"
TIMEOUT_S = 60.0
DOWNLOAD_MAX = 128 << 20


class Wheel(NamedTuple):
    """The wheel that is accepted."""

    file: str
    sha256: str


UV_VERSION = "0.13.8"
WHEELS = {
    "x86_64": Wheel(
        f"uv-{UV_VERSION}-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
        "e18a57b8b352eb7c8feb317b9f6f533c8f0ad9673fd6cf34bbe3cf1a9f6a8984",
    ),
    "aarch64": Wheel(
        f"uv-{UV_VERSION}-py3-none-manylinux_2_28_aarch64.whl",
        "5337c30bb893b4f9ce0ceb921ba2da0d13f649da644f40ad3bef84083bef0203",
    ),
}


def read_pip_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the settings in pip's files; later files win: of the machine, of the user, PIP_CONFIG_FILE."""
    home = Path(environment.get("HOME", "/nonexistent"))
    config_home = Path(environment.get("XDG_CONFIG_HOME", home / ".config"))
    files = [Path("/etc/pip.conf"), home / ".pip/pip.conf", config_home / "pip/pip.conf"]
    parser = configparser.RawConfigParser()
    for file in [*files, Path(environment.get("PIP_CONFIG_FILE", os.devnull))]:
        try:
            parser.read(file, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError):
            continue
    sections = [parser[name] for name in ("global", "install") if parser.has_section(name)]
    return {name.replace("_", "-"): value for section in sections for name, value in section.items()}


def get_index_url(environment: Mapping[str, str]) -> str:
    """Return the index that uv and pip would use, without a trailing slash."""
    named = [environment.get(name) for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")]
    return next(filter(None, [*named, read_pip_settings(environment).get("index-url"), PYPI])).rstrip("/")


def find_certificates(environment: Mapping[str, str]) -> str | None:
    """Return the configured file of certificates, or None for those of the system."""
    names = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
    named = [*(environment.get(name) for name in names), read_pip_settings(environment).get("cert")]
    return next((file for file in named if file and Path(file).is_file()), None)


def create_opener(environment: Mapping[str, str]) -> tuple[urllib.request.OpenerDirector, bool]:
    """Return a URL opener with the settings of the environment and pip, and whether it verifies TLS.

    Without any certificate on the machine it cannot verify: see `fetch_program`.
    """
    named = find_certificates(environment)
    context = ssl.create_default_context(cafile=named)
    directory = Path(ssl.get_default_verify_paths().capath or "/nonexistent")
    verified = bool(named or context.get_ca_certs() or any(directory.glob("*.0")))
    if not verified:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    handlers: list[urllib.request.BaseHandler] = [urllib.request.HTTPSHandler(context=context)]
    proxy = environment.get("PIP_PROXY") or read_pip_settings(environment).get("proxy")
    if proxy:
        handlers.append(urllib.request.ProxyHandler({"http": proxy, "https": proxy}))
    return urllib.request.build_opener(*handlers), verified


def find_link(page: str, page_url: str, file: str) -> str | None:
    """Return the address of `file` on an index page (PEP 503), or None."""
    links = re.findall(r"""<a\s[^>]*?href\s*=\s*["']([^"']+)["']""", page, re.I)
    urls = (urldefrag(urljoin(page_url, html.unescape(link)))[0] for link in links)
    return next((url for url in urls if urlsplit(url).path.endswith(f"/{file}")), None)


def fetch_program(wheel: Wheel, target: Path, environment: Mapping[str, str] = os.environ) -> bool:
    """Write the executable of `wheel` to `target`; return whether TLS was verified. Raises LauncherError.

    Without certificates the SHA-256 still protects the download. An index address with a login is refused
    then, because the login could be intercepted.
    """
    index = get_index_url(environment)
    parts = urlsplit(index)
    displayed = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    opener, verified = create_opener(environment)
    if not verified and parts.username:
        raise LauncherError("no certificates to verify the index: apt-get install ca-certificates")
    if parts.scheme not in {"http", "https"}:
        raise LauncherError(f"the index {displayed} is not an http or https address")
    opener.addheaders = [("User-Agent", "culprit"), ("Accept", "text/html")]
    try:
        with opener.open(f"{index}/uv/", timeout=TIMEOUT_S) as answer:
            url = find_link(answer.read(DOWNLOAD_MAX).decode("utf-8", "replace"), f"{index}/uv/", wheel.file)
        if url is None:
            raise LauncherError(f"{displayed} does not have {wheel.file}")
        with opener.open(url, timeout=TIMEOUT_S) as answer:
            content = answer.read(DOWNLOAD_MAX)
    except OSError as error:
        raise LauncherError(f"cannot fetch uv from {displayed}: {getattr(error, 'reason', error)}") from error
    if hashlib.sha256(content).hexdigest() != wheel.sha256:
        raise LauncherError(f"the SHA-256 of {wheel.file} from {displayed} differs from the pinned one")
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"uv.{os.getpid()}.partial")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        member = next(name for name in archive.namelist() if name.endswith(".data/scripts/uv"))
        partial.write_bytes(archive.read(member))
    partial.chmod(0o755)
    partial.rename(target)
    return verified


if __name__ == "__main__":
    fetch_program(WHEELS[machine.get_architecture()], Path(sys.argv[1]))
