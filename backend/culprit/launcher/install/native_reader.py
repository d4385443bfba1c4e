"""Build the native reader of perf.data and install it into .venv, if a Rust toolchain is available.

The wheel is cached by the hash of its sources, so that it is built once per machine. Without it, Python reads the text
output of perf, several times more slowly.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from culprit.launcher.install import locked_packages
from culprit.launcher.paths import PYTHON, ROOT, VENV
from culprit.launcher.progress import Progress

SOURCE = ROOT / "backend" / "native"
STAMP = VENV / ".culprit-native-stamp"
MIN_RUST = (1, 88)
#: Debian's rustc-web (the toolchain to build browsers) is recent; its package rustc is not.
PACKAGES = "cargo-web rustc-web gcc"
GROUP = "native"


def find_cargo(environment: Mapping[str, str]) -> Path | None:
    """Return cargo from PATH or from rustup, if it is new enough."""
    path = os.pathsep.join((environment.get("PATH", os.defpath), str(Path.home() / ".cargo" / "bin")))
    program = shutil.which("cargo", path=path)
    if program is None or shutil.which("cc", path=path) is None:
        return None
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.match(r"cargo (\d+)\.(\d+)", done.stdout)
    return Path(program) if match and (int(match[1]), int(match[2])) >= MIN_RUST else None


def compute_stamp() -> str:
    """Return a hash of the sources and of their lock."""
    files = [
        SOURCE / "Cargo.toml",
        SOURCE / "Cargo.lock",
        SOURCE / "pyproject.toml",
        *SOURCE.glob("src/**/*.rs"),
    ]
    return locked_packages.hash_files(files)


def is_installed() -> bool:
    """Return whether the module in .venv is of these sources."""
    return locked_packages.read_stamp(STAMP) == [compute_stamp()]


def get_wheel_cache(environment: Mapping[str, str]) -> Path:
    """Return the directory of built wheels of this user."""
    caches = environment.get("XDG_CACHE_HOME")
    return (Path(caches) if caches else Path.home() / ".cache") / "culprit" / "native"


def install_native_reader(progress: Progress) -> bool:
    """Install the module, built if no cached wheel is of these sources. Return whether it is installed.

    Raises LauncherError if the build fails.
    """
    if is_installed():
        return True
    stamp = compute_stamp()
    cached = get_wheel_cache(os.environ) / stamp[:32]
    wheel = next(iter(sorted(cached.glob("*.whl"))), None)
    if wheel is None:
        cargo = find_cargo(os.environ)
        if cargo is None:
            progress.print_line(
                f"perf.data is read by perf and Python, several times slower: no Rust {MIN_RUST[0]}."
                f"{MIN_RUST[1]} or newer is here. Install it with: apt-get install {PACKAGES}"
            )
            return False
        wheel = _build(cargo, cached, progress)
    with locked_packages.hold_install_lock(progress):
        uv = str(locked_packages.ensure_uv(progress))
        command = [
            uv,
            "pip",
            "install",
            "--quiet",
            "--python",
            str(PYTHON),
            "--no-deps",
            "--reinstall",
            str(wheel),
        ]
        locked_packages.run_command(
            command, locked_packages.build_tool_environment(os.environ), "uv pip install"
        )
        STAMP.write_text(f"{stamp}\n", "ascii")
    return True


def _build(cargo: Path, into: Path, progress: Progress) -> Path:
    locked_packages.install_python_packages([GROUP], progress)
    into.parent.mkdir(parents=True, exist_ok=True)
    environment = locked_packages.build_tool_environment(os.environ)
    environment["PATH"] = os.pathsep.join(
        (str(VENV / "bin"), str(cargo.parent), environment.get("PATH", os.defpath))
    )
    with (
        progress.phase("native reader", "Building the reader of perf.data"),
        tempfile.TemporaryDirectory(dir=into.parent) as place,
    ):
        environment["CARGO_TARGET_DIR"] = str(Path(place) / "target")
        command = [
            "nice",
            "maturin",
            "build",
            "--release",
            "--locked",
            "--quiet",
            "--interpreter",
            str(PYTHON),
        ]
        command += ["--out", str(Path(place) / "wheel")]
        locked_packages.run_command(command, environment, "maturin build", cwd=SOURCE)
        shutil.rmtree(into, ignore_errors=True)
        (Path(place) / "wheel").rename(into)
    return next(iter(into.glob("*.whl")))
