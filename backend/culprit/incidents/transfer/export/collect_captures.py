"""Collect the captures of an incident for a bundle: runs, artifacts, profiles and comparisons."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.incidents.records.snapshot import IncidentSnapshot
from culprit.incidents.transfer import queries, verdicts
from culprit.infra.artifacts.blob_files import ArtifactAlteredError, ArtifactMissingError
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.profile_comparison import ProfileComparison
from culprit.json_types import Json

ENDED_STATES = ("done", "partial", "failed", "canceled", "expired")
_COMPARISON_PATH = re.compile(r"/comparisons/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![^?#])")


def build_captures(
    session: Session,
    store: ArtifactStore,
    snapshot: IncidentSnapshot,
    runs: Mapping[UUID, Run],
    links: Mapping[UUID, Any],
) -> Json:
    """Build captures, runs, collectors, artifacts, profiles and comparisons. `links`: run links of the incident."""
    rule_verdicts = verdicts.load_rule_verdicts(session, links)
    collectors = queries.list_collectors(session, runs)
    comparisons = queries.list_comparisons(session, {*_iter_cited_comparisons(snapshot)})
    pinned = {item for pin in snapshot.pins for item in iter_ids(pin.ref)}
    compared = {
        side_profile
        for comparison in comparisons
        for side in (comparison.a, comparison.b)
        for side_profile in _list_side_profiles(side)
    }
    profiles = queries.list_profiles(session, {*pinned, *compared}, runs)
    known = {profile.id for profile in profiles}
    return {
        "captures": [
            {
                **copy_fields(
                    capture, "id", "plan", "collectors", "seconds", "scope", "reason", "created_at"
                ),
                "state": capture.state if capture.state in ENDED_STATES else "partial",
            }
            for capture in queries.list_captures(session, runs.values())
        ],
        "runs": [_build_run(run, links.get(run.id), rule_verdicts) for run in runs.values()],
        "collectors": [_build_collector(collector) for collector in collectors],
        "artifacts": [
            _build_artifact(store, artifact) for artifact in queries.list_artifacts(session, runs, collectors)
        ],
        "profiles": [_build_profile(profile) for profile in profiles],
        "comparisons": [
            _build_comparison(comparison)
            for comparison in comparisons
            if known.issuperset((*_list_side_profiles(comparison.a), *_list_side_profiles(comparison.b)))
        ],
    }


def copy_fields(item: object, *names: str) -> Json:
    """Return attributes with these names."""
    return {name: getattr(item, name) for name in names}


def iter_ids(ref: Json) -> Iterator[UUID]:
    """Yield the IDs in the reference of a pin."""
    for value in ref.values():
        if isinstance(value, str):
            try:
                yield UUID(value)
            except ValueError:
                continue


def _iter_cited_comparisons(snapshot: IncidentSnapshot) -> Iterator[UUID]:
    """Yield the comparisons that pins and verifications cite."""
    for pin in snapshot.pins:
        if match := _COMPARISON_PATH.match(pin.view):
            yield UUID(match[1])
    for verification in snapshot.verifications:
        rendered = ((verification.result or {}).get("differential") or {}).get("comparison_id")
        if rendered:
            yield UUID(rendered)


def _list_side_profiles(side: Json) -> Sequence[UUID]:
    return [UUID(profile_id) for profile_id in (side["profile_id"], *side.get("also", ()))]


def _build_run(run: Run, link: Any, rule_verdicts: Mapping[UUID, Mapping[str, tuple[str, int]]]) -> Json:
    verdicts_by_rule = rule_verdicts.get(run.id)
    target = (run.facts or {}).get("target")
    return {
        **copy_fields(
            run, "id", "state", "failure", "failure_side", "boot_id", "clock", "host_cpu_ms", "t0_ns", "t1_ns",
            "started_at", "ended_at",
        ),
        "role": link.role if link else None,
        "step": link.step if link else None,
        "capture": run.capture_id,
        "host": run.host_id,
        "fix": link.fix_id if link else None,
        "target": target if isinstance(target, dict) else None,
        "rule_verdicts": None
        if verdicts_by_rule is None
        else [{"rule": rule, "state": state, "subjects": n} for rule, (state, n) in verdicts_by_rule.items()],
    }  # fmt: skip


def _build_collector(run_collector: RunCollector) -> Json:
    return {
        **copy_fields(
            run_collector, "id", "collector", "state", "reason", "method", "argv", "exit_code", "tool_version",
            "started_ns",
            "ended_ns", "cpu_ms", "bytes", "stderr_tail", "parser_version",
        ),
        "run": run_collector.run_id,
    }  # fmt: skip


def _build_artifact(store: ArtifactStore, artifact: Artifact) -> Json:
    return {
        **copy_fields(
            artifact, "id", "part", "sha256", "size", "encoding", "media_type", "complete", "attempt"
        ),
        "run": artifact.run_id,
        "collector": artifact.run_collector_id,
        "left_out": _find_omission(store, artifact.sha256) if artifact.removed_at is None else "gone",
    }


def _find_omission(store: ArtifactStore, sha256: str) -> str | None:
    try:
        store.verify(sha256)
    except (ArtifactMissingError, FileNotFoundError):
        return "gone"
    except ArtifactAlteredError:
        return "altered"
    return None


def _build_profile(profile: Profile) -> Json:
    return {
        **copy_fields(profile, "id", "kind", "event", "unit"),
        "run": profile.run_id,
        "collector": profile.run_collector_id,
    }


def _build_comparison(profile_comparison: ProfileComparison) -> Json:
    before, after = (
        {"profiles": _list_side_profiles(side), "filter": side["filter"]}
        for side in (profile_comparison.a, profile_comparison.b)
    )
    return {
        **copy_fields(profile_comparison, "id", "normalize"),
        "before": before,
        "after": after,
        "by_base": bool(profile_comparison.a.get("by_base")),
    }
