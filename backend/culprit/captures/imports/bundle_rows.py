"""Store a checked bundle as rows: one run with its collectors and artifacts, like a captured run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from collectors.registry import COLLECTORS
from collectors.runner import scope
from collectors.runner.host_values import FIELD_REJECTED
from culprit.infra.artifacts.blob_files import is_digest
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RUN_COLLECTOR_STATES, RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.sandbox.process import is_output
from culprit.json_types import Json
from culprit.web.errors import InvalidRequestError

TEXT_PARTS = frozenset({"stdout", "samples", "stderr", "snapshot"})


def store_bundle(session: Session, store: ArtifactStore, run: Run, bundle: Json, directory: Path) -> None:
    """Move the parts into the store and write the rows. `bundle` is the result of `BundleReader`."""
    collectors = _store_collectors(session, run, bundle["outcomes"])
    for part in bundle["parts"]:
        row = collectors.get(part["collector"])
        if row is None and part["collector"] in COLLECTORS:
            # Its outcome is missing in the file; the existing parts can be read.
            row = _store_collector(run, {"collector": part["collector"], "state": "failed"})
            session.add(row)
            session.flush()
            collectors[part["collector"]] = row
        place = directory / f"part-{int(part['number'])}"
        if not is_digest(part["sha256"]) or not is_output(place):
            raise InvalidRequestError("import.not_bundle", why="part")
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
        raise InvalidRequestError("import.bundle_empty")
    run.clock = bundle["clock"]
    run.boot_id = str(bundle["hello"].get("boot_id", ""))[:64] or None
    if target := scope.parse_target(bundle["hello"]):
        run.facts = {"target": target}
    run.bytes = sum(int(part["stored_size"]) for part in bundle["parts"])
    if bundle["trouble"] is not None:
        run.failure = {"key": "import.bundle_cut", "params": {"why": bundle["trouble"]}}
        run.failure_side = "host"
    cpu_ms = [outcome["cpu_ms"] for outcome in bundle["outcomes"] if outcome.get("cpu_ms") is not None]
    run.host_cpu_ms = float(sum(cpu_ms)) if cpu_ms else None
    session.flush()


def _store_collectors(session: Session, run: Run, outcomes: list[Json]) -> dict[str, RunCollector]:
    """Write one row per collector; the last outcome of each counts."""
    rows = {
        outcome["collector"]: _store_collector(run, outcome)
        for outcome in outcomes
        if outcome["collector"] in COLLECTORS
    }
    session.add_all(rows.values())
    session.flush()
    return rows


def _store_collector(run: Run, item: Json) -> RunCollector:
    names = (
        "method", "exit_code", "started_ns", "ended_ns", "cpu_ms", "argv", "tool_version", "reason",
        "stderr_tail",
    )  # fmt: skip
    state = item["state"] if item["state"] in RUN_COLLECTOR_STATES else "failed"
    values = {name: _replace_nul(item.get(name)) for name in names}
    return RunCollector(
        run_id=run.id,
        collector=item["collector"],
        state=state,
        bytes=int(item.get("bytes") or 0),
        warnings=[
            {"key": FIELD_REJECTED + reason, "params": {"field": field}}
            for field, reason in item.get("rejected", [])
        ],
        **values,
    )


def _replace_nul(value: Any) -> Any:
    return value.replace("\0", "\ufffd") or None if isinstance(value, str) else value
