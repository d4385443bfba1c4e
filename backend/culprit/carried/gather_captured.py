"""What was captured for an incident, as a bundle holds it: runs with their bytes, and what is drawn of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.carried import queries, verdicts
from culprit.incidents.load import Loaded
from culprit.infra.artifacts import ArtifactAltered, ArtifactMissing, ArtifactStore
from culprit.models import Artifact, Profile, ProfileDiff, Run, RunCollector

Json = dict[str, Any]
ENDED = ("done", "partial", "failed", "cancelled", "expired")
_DIFF = re.compile(r"/diffs/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![^?#])")


def captured(
    session: Session,
    store: ArtifactStore,
    loaded: Loaded,
    runs: Mapping[UUID, Run],
    links: Mapping[UUID, Any],
) -> Json:
    """Captures, runs, collectors, artifacts, profiles and comparisons. `links`: what the incident says of its runs."""
    spoken = verdicts.spoke(session, links)
    collectors = queries.collectors(session, runs)
    asked = queries.diffs(session, {*_shown(loaded)})
    pinned = {one for pin in loaded.pins for one in ids_of(pin.ref)}
    compared = {one for diff in asked for side in (diff.a, diff.b) for one in _of_side(side)}
    profiles = queries.profiles(session, {*pinned, *compared}, runs)
    known = {one.id for one in profiles}
    return {
        "captures": [
            {
                **same(one, "id", "plan", "collectors", "seconds", "scope", "reason", "created_at"),
                "state": one.state if one.state in ENDED else "partial",
            }
            for one in queries.captures(session, runs.values())
        ],
        "runs": [_run(one, links.get(one.id), spoken) for one in runs.values()],
        "collectors": [_collector(one) for one in collectors],
        "artifacts": [_artifact(store, one) for one in queries.artifacts(session, runs, collectors)],
        "profiles": [_profile(one) for one in profiles],
        "diffs": [_diff(one) for one in asked if known.issuperset((*_of_side(one.a), *_of_side(one.b)))],
    }


def same(one: object, *names: str) -> Json:
    """What is called here as it is there."""
    return {name: getattr(one, name) for name in names}


def ids_of(ref: Json) -> Iterator[UUID]:
    """Everything that the place of a pin names by an id."""
    for value in ref.values():
        if isinstance(value, str):
            try:
                yield UUID(value)
            except ValueError:
                continue


def _shown(loaded: Loaded) -> Iterator[UUID]:
    """The comparisons that pins and verifications show."""
    for pin in loaded.pins:
        if found := _DIFF.match(pin.view):
            yield UUID(found[1])
    for asked in loaded.verifications:
        drawn = ((asked.result or {}).get("differential") or {}).get("diff_id")
        if drawn:
            yield UUID(drawn)


def _of_side(side: Json) -> Sequence[UUID]:
    return [UUID(one) for one in (side["profile_id"], *side.get("also", ()))]


def _run(run: Run, link: Any, spoken: Mapping[UUID, Mapping[str, tuple[str, int]]]) -> Json:
    words = spoken.get(run.id)
    target = (run.facts or {}).get("target")
    return {
        **same(
            run, "id", "state", "failure", "failure_side", "boot_id", "clock", "host_cpu_ms", "t0_ns", "t1_ns",
            "started_at", "ended_at",
        ),
        "role": link.role if link else None,
        "step": link.step if link else None,
        "capture": run.capture_id,
        "host": run.host_id,
        "fix": link.fix_id if link else None,
        "target": target if isinstance(target, dict) else None,
        "spoke": None
        if words is None
        else [{"rule": rule, "state": state, "subjects": n} for rule, (state, n) in words.items()],
    }  # fmt: skip


def _collector(one: RunCollector) -> Json:
    return {
        **same(
            one, "id", "collector", "state", "reason", "way", "argv", "exit_code", "tool_version", "started_ns",
            "ended_ns", "cpu_ms", "bytes", "stderr_tail", "parser_version",
        ),
        "run": one.run_id,
    }  # fmt: skip


def _artifact(store: ArtifactStore, one: Artifact) -> Json:
    return {
        **same(one, "id", "part", "sha256", "size", "encoding", "media_type", "complete", "attempt"),
        "run": one.run_id,
        "collector": one.run_collector_id,
        "left_out": _left_out(store, one.sha256) if one.removed_at is None else "gone",
    }


def _left_out(store: ArtifactStore, sha256: str) -> str | None:
    try:
        store.verify(sha256)
    except (ArtifactMissing, FileNotFoundError):
        return "gone"
    except ArtifactAltered:
        return "altered"
    return None


def _profile(one: Profile) -> Json:
    return {**same(one, "id", "kind", "event", "unit"), "run": one.run_id, "collector": one.run_collector_id}


def _diff(one: ProfileDiff) -> Json:
    before, after = ({"profiles": _of_side(side), "filter": side["filter"]} for side in (one.a, one.b))
    return {
        **same(one, "id", "normalise"),
        "before": before,
        "after": after,
        "by_base": bool(one.a.get("by_base")),
    }
