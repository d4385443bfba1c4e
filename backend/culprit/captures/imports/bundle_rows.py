"""A checked bundle as rows: one run with its collectors and artifacts, as if it had been captured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from collectors import scope
from collectors.host_values import FIELD_REJECTED
from collectors.registry import COLLECTORS
from culprit.infra.artifacts import ArtifactStore, is_digest
from culprit.infra.bounded import is_output
from culprit.kit.errors import Invalid
from culprit.models import Artifact, Run, RunCollector
from culprit.models.run_collector import RUN_COLLECTOR_STATES

Json = dict[str, Any]
TEXT_PARTS = frozenset({"stdout", "samples", "stderr", "snapshot"})


def file_bundle(session: Session, store: ArtifactStore, run: Run, bundle: Json, directory: Path) -> None:
    """Moves the parts into the store and writes the rows. `bundle` is what `BundleReader` has told."""
    collectors = _collectors(session, run, bundle["outcomes"])
    for part in bundle["parts"]:
        row = collectors.get(part["collector"])
        if row is None and part["collector"] in COLLECTORS:
            # Its outcome did not make it into the file; what there is can be read all the same.
            row = _collector(run, {"collector": part["collector"], "state": "failed"})
            session.add(row)
            session.flush()
            collectors[part["collector"]] = row
        place = directory / f"part-{int(part['number'])}"
        if not is_digest(part["sha256"]) or not is_output(place):
            raise Invalid("import.not_bundle", why="part")
        store.adopt(place, part["sha256"])
        text = part["part"] in TEXT_PARTS or part["part"].endswith((".txt", ".log"))
        session.add(
            Artifact(
                run_id=run.id,
                run_collector_id=row.id if row is not None else None,
                part=part["part"][:200],
                sha256=part["sha256"],
                size=int(part["size"]),
                stored_size=int(part["stored_size"]),
                encoding=part["encoding"],
                media_type="text/plain; charset=utf-8" if text else "application/octet-stream",
                complete=bool(part["complete"]),
            )
        )
    if not bundle["parts"]:
        raise Invalid("import.bundle_empty")
    run.clock = bundle["clock"]
    run.boot_id = str(bundle["hello"].get("boot_id", ""))[:64] or None
    if target := scope.found(bundle["hello"]):
        run.facts = {"target": target}
    run.bytes = sum(int(part["stored_size"]) for part in bundle["parts"])
    if bundle["trouble"] is not None:
        run.failure = {"key": "import.bundle_cut", "params": {"why": bundle["trouble"]}}
        run.failure_side = "host"
    cpu_ms = [one["cpu_ms"] for one in bundle["outcomes"] if one.get("cpu_ms") is not None]
    run.host_cpu_ms = float(sum(cpu_ms)) if cpu_ms else None
    session.flush()


def _collectors(session: Session, run: Run, outcomes: list[Json]) -> dict[str, RunCollector]:
    """One row per collector; the last word on each counts."""
    rows = {one["collector"]: _collector(run, one) for one in outcomes if one["collector"] in COLLECTORS}
    session.add_all(rows.values())
    session.flush()
    return rows


def _collector(run: Run, one: Json) -> RunCollector:
    names = (
        "way", "exit_code", "started_ns", "ended_ns", "cpu_ms", "argv", "tool_version", "reason",
        "stderr_tail",
    )  # fmt: skip
    state = one["state"] if one["state"] in RUN_COLLECTOR_STATES else "failed"
    values = {name: _plain(one.get(name)) for name in names}
    return RunCollector(
        run_id=run.id,
        collector=one["collector"],
        state=state,
        bytes=int(one.get("bytes") or 0),
        warnings=[
            {"key": FIELD_REJECTED + reason, "params": {"field": field}}
            for field, reason in one.get("rejected", [])
        ],
        **values,
    )


def _plain(value: Any) -> Any:
    return value.replace("\0", "\ufffd") or None if isinstance(value, str) else value
