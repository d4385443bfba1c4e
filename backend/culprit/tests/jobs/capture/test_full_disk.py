"""The file system of the platform becomes full while a host is captured: a real one, of a few megabytes."""

import os
import subprocess
from pathlib import Path

import pytest
from culprit.infra.artifacts.store import artifact_store
from culprit.tests.jobs.capture.test_run_capture import NORMAL_END
from culprit.web.errors import UnavailableError

pytestmark = [
    pytest.mark.long(30),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a file system"),
]

SIZE = 8 << 20


@pytest.fixture
def small_home(config):
    """The home of the platform on a file system of its own."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", config.home], check=True)
    try:
        yield config.home
    finally:
        subprocess.run(["umount", "-l", config.home], check=True)


def fill(path: Path) -> None:
    """Write until no byte is free."""
    with path.open("wb", buffering=0) as file:
        try:
            while file.write(b"x" * 4096):
                pass
        except OSError:
            return


def list_files(home: Path) -> set[Path]:
    return {path for path in home.rglob("*") if path.is_file()}


def test_a_disk_that_becomes_full_ends_the_run_and_keeps_what_was_stored(small_home, lab):
    sshd = lab.sshd()
    host = lab.add_host(sshd)
    lab.worker()
    # It repeats a run that the host refused because the runner of the one before is still there.
    lab.scheduler()
    first = lab.capture(host)
    [before] = lab.until_runs(first, *NORMAL_END)
    kept = lab.artifacts(before.id)
    filler = small_home / "filler"

    second = lab.capture(host, seconds=5)
    lab.until_runs(second, "running")
    fill(filler)
    [run] = lab.until_runs(second, "failed", "partial")
    assert (run.failure["key"], run.failure_side) == ("run.disk_full", "worker")
    with pytest.raises(UnavailableError) as refused:
        lab.capture(host)
    assert refused.value.key == "capture.disk_full"

    filler.unlink()
    third = lab.capture(host)
    lab.until_runs(third, *NORMAL_END, seconds=120)
    # What was stored before is whole, and the run that failed left no partial file.
    for artifact in kept:
        artifact_store().verify(artifact.sha256)
    assert not [path for path in list_files(small_home) if "incoming" in path.parts]
