"""Profiles for the benchmarks of screens: a large recording, and its import by the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from culprit.launcher.paths import ROOT

from bench.server.perf_data import record_workload
from bench.support import platforms
from bench.support.made_recording import write_recording

UP_S, IMPORT_S = 600.0, 600.0
REAL = "fp1M"


def print_progress(text: str) -> None:
    """Print progress."""
    sys.stderr.write(f"{text}\n")


def prepare_recording(top: Path, samples: int | None, path: Path | None) -> Path:
    """Return a recording of perf: a given one, a made one of `samples` samples, or about a million real ones."""
    if path is not None:
        return path
    recording = top / "perf.data"
    if samples is None:
        record_workload(REAL, recording)
    else:
        write_recording(recording, samples)
    print_progress(f"a recording of {recording.stat().st_size / 1e6:.0f} MB")
    return recording


def import_recording(home: Path, url: str, recording: Path) -> str:
    """Import a recording by the command line and return the id of its run. Raises PlatformError."""
    command = [str(ROOT / "culprit"), "capture", "import", str(recording), "--kind", "perf_data"]
    command += ["--wait", "--json", "--timeout", str(IMPORT_S)]
    environment = platforms.build_environment(home, CULPRIT_URL=url)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise platforms.PlatformError(
            f"the import ended with {done.returncode}: {(done.stderr or done.stdout)[-800:]}"
        )
    result: dict[str, Any] = json.loads(done.stdout)
    return str(result["runs"][0]["id"])
