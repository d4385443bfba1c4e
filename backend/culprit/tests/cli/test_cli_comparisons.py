"""`culprit profile compare` against a server and a worker's builds, with real recordings."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from culprit.infra.db.session import Database
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.profile_comparison import ProfileComparison
from culprit.jobs.ingest.build_comparison import build_comparison
from culprit.jobs.ingest.build_profile import build_profile
from culprit.jobs.ingest.ingest_run import ingest_run
from culprit.tests.support.command_line import REFUSED, USAGE, Cli
from sqlalchemy import select

from collectors.tests.recorded_profiles import captured


@pytest.fixture
def worker(db: Database) -> Iterator[None]:
    """Build comparisons as they are queued."""
    stop = threading.Event()

    def build() -> None:
        while not stop.wait(0.2):
            with db.sessions() as session:
                queued = session.scalars(
                    select(ProfileComparison.id).where(ProfileComparison.state == "queued")
                ).all()
            for comparison in queued:
                build_comparison(comparison)

    thread = threading.Thread(target=build)
    thread.start()
    yield
    stop.set()
    thread.join()


def bring(cli: Cli, db: Database, file: Path, kind: str) -> str:
    run = cli.json("capture", "import", str(file), "--kind", kind)["runs"][0]["id"]
    assert ingest_run(UUID(run)) == "done"
    with db.sessions() as session:
        assert (
            build_profile(session.scalars(select(Profile.id).where(Profile.run_id == UUID(run))).one())
            == "ready"
        )
    return str(run)


@pytest.mark.usefixtures("worker")
def test_two_recordings_are_compared_by_function(cli: Cli, db: Database, tmp_path: Path) -> None:
    runs = []
    for name in ("first", "slower"):
        (tmp_path / name).write_bytes(captured(f"mill_{name}.txt"))
        runs.append(bring(cli, db, tmp_path / name, "perf_script"))
    text = cli("profile", "compare", *runs)
    first = next(line for line in text.splitlines() if line.startswith("*"))
    assert first.split()[-1] == "checksum" and first.split()[3].startswith("+")
    assert "changed by more than chance" in text and "share of samples, %" in text
    result = cli.json(
        "profile", "compare", *runs, "--normalize", "work", "--work-a", "84000", "--work-b", "84000"
    )
    checksum = next(row for row in result["rows"] if row["frame"] == "checksum")["self"]
    assert checksum["delta"] / (checksum["a"] / 84_000) == pytest.approx(0.095, abs=0.02)
    cli("profile", "compare", *runs, "--normalize", "work", status=REFUSED)
    assert "number of requests" in cli.last.stderr

    halves = cli.json("profile", "compare", runs[0], runs[0], "--range-a", "0-16", "--range-b", "16-33")
    assert not [
        row for row in halves["rows"] if "changed" in {row["self"]["verdict"], row["total"]["verdict"]}
    ]
    assert halves["samples_a"] + halves["samples_b"] == pytest.approx(30_402, abs=400)
    assert "samples per second" in cli("profile", "compare", *runs, "--normalize", "wall", "--thread", "mill")
    cli("profile", "compare", *runs, "--range-a", "9-3", status=USAGE)


@pytest.mark.usefixtures("worker")
def test_stacks_without_times_state_what_is_assumed(cli: Cli, db: Database, tmp_path: Path) -> None:
    runs = []
    for name, text in (("before", "a;b 400\na;gone 600\n"), ("after", "a;b 900\na;fresh 600\n")):
        (tmp_path / name).write_text(text)
        runs.append(bring(cli, db, tmp_path / name, "folded"))
    text = cli("profile", "compare", *runs)
    assert "a larger variance is assumed" in text
    assert {line.split()[-1] for line in text.splitlines() if line.startswith("*")} == {"b", "gone", "fresh"}
    cli("profile", "compare", *runs, "--normalize", "wall", status=REFUSED)
    cli("profile", "compare", *runs, "--range-a", "0-3", "--range-b", "0-3", status=REFUSED)
    cli("profile", "compare", *runs, "--profile", "off_cpu", status=REFUSED)
