"""Programs from the Go module proxy, built once per machine: helm, kubeconform and versitygw."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

#: Command path and version of each program. go.sum databases and the proxy verify the content.
MODULES = {
    "helm": "helm.sh/helm/v3/cmd/helm@v3.22.0",
    "kubeconform": "github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0",
    "versitygw": "github.com/versity/versitygw/cmd/versitygw@v1.8.0",
}
BUILD_S = 1800
#: Debian's Go is older than these modules need.
MIN_GO = (1, 26)


def get_cache() -> Path:
    """Return the directory of built programs of this user."""
    caches = os.environ.get("XDG_CACHE_HOME")
    return (Path(caches) if caches else Path.home() / ".cache") / "culprit" / "go"


def find_program(name: str) -> Path | None:
    """Return a built program, or None."""
    program = _get_directory(name) / name
    return program if program.is_file() else None


def ensure_program(name: str) -> Path | None:
    """Return the program, built if necessary; None where Go is missing, too old, or cannot build it."""
    if (program := find_program(name)) is not None:
        return program
    go = shutil.which("go", path=f"{os.environ.get('PATH', os.defpath)}{os.pathsep}/usr/local/go/bin")
    if go is None or _read_go_version(go) < MIN_GO:
        return None
    directory = _get_directory(name)
    partial = directory.with_suffix(".partial")
    environment = dict(os.environ) | {"GOBIN": str(partial), "GOFLAGS": "-trimpath", "GOTOOLCHAIN": "local"}
    command = ["nice", go, "install", MODULES[name]]
    try:
        subprocess.run(command, env=environment, capture_output=True, check=True, timeout=BUILD_S)
    except (subprocess.SubprocessError, OSError):
        return None
    shutil.rmtree(directory, ignore_errors=True)
    partial.rename(directory)
    return directory / name


def _get_directory(name: str) -> Path:
    return get_cache() / MODULES[name].rpartition("/")[2].replace("@", "-")


def _read_go_version(go: str) -> tuple[int, ...]:
    done = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=False, timeout=30)
    numbers = done.stdout.strip().removeprefix("go").split(".")[:2]
    return tuple(int(number) for number in numbers) if all(part.isdigit() for part in numbers) else (0,)
