"""The native reader reads what other versions of perf wrote as those versions print it: stored recordings of each."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from collectors.parse.perf import perf_data, perf_sched, perf_script
from collectors.profiles.schedule_builder import build_sched_table
from collectors.tests.recorded_profiles import FIXTURES, list_samples, list_slices, list_tasks, source

pytestmark = pytest.mark.skipif(not perf_data.is_available(), reason="the native reader is not built")

VERSIONS = FIXTURES / "versions"
SAMPLES = sorted(
    path.name.removesuffix(".data.gz")
    for path in VERSIONS.glob("*.data.gz")
    if not path.name.endswith("schedule.data.gz")
)
#: The functions of `loom.c` that must be in the stacks of every recording.
FUNCTIONS = {"_start", "touch_pages"}


def unpack(name: str, folder: Path) -> Path:
    """Unpack a stored file into a folder and return its path."""
    path = folder / name
    path.write_bytes(gzip.decompress((VERSIONS / f"{name}.gz").read_bytes()))
    return path


def test_both_ends_of_the_supported_versions_are_stored() -> None:
    assert {name.partition("-")[0] for name in SAMPLES} == {"5.10", "6.12"}
    assert len(SAMPLES) >= 9


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_and_stacks_are_those_of_the_version_that_recorded_them(name: str, tmp_path: Path) -> None:
    recording = unpack(f"{name}.data", tmp_path)
    store = tmp_path / "store"
    store.mkdir()
    for module in perf_data.list_modules(recording.read_bytes()).modules:
        if module.key and module.path == "/srv/loom/loom":
            unpack("loom", store).rename(store / module.key)
    symbols = perf_data.SymbolFiles(kallsyms=unpack("kallsyms", tmp_path), store=store)
    ours = list_samples(perf_data.read_samples(recording, symbols))
    text = unpack(f"{name}.txt", tmp_path).read_bytes()
    theirs = list_samples(perf_script.parse_perf_script(source(text)))
    assert len(ours) == len(theirs) > 20
    # The text has no column of CPUs, because these recordings are of one program.
    assert [(item[0], *item[2:]) for item in ours] == [(item[0], *item[2:]) for item in theirs]
    frames = {frame for item in ours for frame in item[6]}  # type: ignore[attr-defined]
    assert frames >= FUNCTIONS


@pytest.mark.parametrize("version", ["5.10", "6.12"])
def test_a_schedule_is_that_of_the_text_of_the_version_that_recorded_it(version: str, tmp_path: Path) -> None:
    recording = unpack(f"{version}-schedule.data", tmp_path)
    text = unpack(f"{version}-schedule.txt", tmp_path).read_bytes()
    theirs = build_sched_table(perf_sched.parse_perf_sched(source(text)))
    ours = perf_data.read_schedule(recording)
    assert list_slices(ours) == list_slices(theirs)
    assert list_tasks(ours) == list_tasks(theirs)
    assert (ours.lost, ours.inconsistent, ours.cpus) == (theirs.lost, theirs.inconsistent, theirs.cpus)
    assert np.count_nonzero(ours.len_ns) >= 20
