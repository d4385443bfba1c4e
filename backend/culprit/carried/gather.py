"""Everything of an incident that a bundle carries, as the document of `culprit.carried.form`, with all names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.carried import queries, verdicts
from culprit.carried.form import Document
from culprit.carried.gather_captured import ENDED, captured, ids_of, same
from culprit.incidents import comments as said
from culprit.incidents import queries as incidents
from culprit.incidents.given import Symptom
from culprit.incidents.load import Loaded
from culprit.infra.artifacts import ArtifactStore
from culprit.kit.clock import now
from culprit.kit.version import VERSION
from culprit.models import Pin

Json = dict[str, Any]
FINAL = ("done", "failed", "cancelled")
#: Why a verification that goes on here ends for whoever reads the bundle.
NOT_CARRIED = {"key": "carried.verification_open", "params": {}}


def document(session: Session, store: ArtifactStore, loaded: Loaded, *, comments: bool) -> Json:
    """The whole document as plain data, valid by `Document`."""
    links = {one.run_id: one for one in loaded.runs if one.state in ENDED}
    rows = queries.runs(session, {*links, *_beside(session, loaded)})
    known = {"run": set(rows), "host": {host.id for _, host in loaded.hosts}}
    told = _People(session, loaded, comments=comments)
    found: Json = {
        "origin": {
            "culprit": VERSION,
            "number": loaded.incident.number,
            "written_at": now(),
            "redacted": False,
            "rules": verdicts.rules_digest(),
        },
        "incident": _head(loaded),
        "hosts": [
            {"id": host.id, "name": host.name, "scope": link.scope, "role": link.role}
            for link, host in loaded.hosts
        ],
        "playbooks": [
            {
                "id": one.playbook_id,
                **same(one, "digest", "content", "aside_reason", "aside_at"),
                "aside_by": told.name(one.aside_by, f"playbook {one.playbook_id}"),
            }
            for one in loaded.playbooks
        ],
        "hypotheses": [
            {
                **same(one, "id", "key", "says", "cause", "primary", "state", "created_at"),
                "standing": loaded.stand(one.key).standing,
            }
            for one in loaded.hypotheses
        ],
        "steps": _steps(loaded, known["run"]),
        "comments": told.comments(),
        **captured(session, store, loaded, rows, links),
    }  # fmt: skip
    found["fixes"] = _fixes(loaded, told, known["host"])
    captures = {one["id"] for one in found["captures"]}
    found["verifications"] = _verifications(loaded, told, known, captures)
    pins = _pins(session, loaded, told, known["run"])
    found["pins"] = pins
    found["verdicts"] = _verdicts(loaded, told, {one["id"]: one for one in pins})
    found["waivers"] = [
        {**same(one, "step", "reason"), "by": told.name(one.by, one.step), "at": one.created_at}
        for one in loaded.waivers.values()
    ]
    shown = {one["id"] for one in pins}
    found["outcomes"] = [
        {
            **same(one, "cause", "right", "true_cause", "note", "at"),
            "by": told.name(one.by),
            "pins": [pin for pin in one.pins if UUID(pin) in shown],
        }
        for one in loaded.outcomes
    ]
    return Document.model_validate(found).model_dump(mode="json")


def _beside(session: Session, loaded: Loaded) -> set[UUID]:
    """Runs that are not the incident's, but that pins show or fixes were compared with, on its hosts."""
    cited = {one for pin in loaded.pins for one in ids_of(pin.ref)}
    compared = {UUID(one) for asked in loaded.verifications for one in asked.before}
    hosts = {host.id for _, host in loaded.hosts}
    return {
        one.id
        for one in queries.runs(session, {*queries.runs_of(session, cited).values(), *compared}).values()
        if one.host_id in hosts and one.state in ENDED
    }


class _People:
    """Names in the place of accounts."""

    def __init__(self, session: Session, loaded: Loaded, *, comments: bool) -> None:
        self.rows = list(said.told_in_report(session, loaded.incident)) if comments else []
        every: list[UUID | None] = [one.by for one in self.rows]
        for many, attribute in (
            (loaded.playbooks, "aside_by"), (loaded.verdicts, "by"), (loaded.pins, "created_by"),
            (loaded.waivers.values(), "by"), (loaded.outcomes, "by"), (loaded.fixes, "created_by"),
            (loaded.verifications, "requested_by"),
        ):  # fmt: skip
            every += [getattr(one, attribute) for one in many]
        self.names = incidents.names(session, every)
        origin = incidents.origin(session, loaded.incident.id)
        self.carried: Mapping[str, str] = origin.said_by if origin else {}

    def name(self, user_id: UUID | None, of: object = None) -> str | None:
        """Who it was; of what was imported before, who it was there."""
        return self.names.get(user_id) if user_id else self.carried.get(str(of))

    def comments(self) -> list[Json]:
        """What people wrote and did not take back."""
        return [
            {"about": one.ref, "text": one.text, "by": self.name(one.by), "at": one.at} for one in self.rows
        ]


def _head(loaded: Loaded) -> Json:
    one = loaded.incident
    return {
        **same(
            one, "id", "title", "severity", "state", "window_from", "window_to", "created_at", "resolved_at"
        ),
        "symptom": Symptom(**one.symptom),
    }


def _steps(loaded: Loaded, runs: set[UUID]) -> list[Json]:
    return [
        {
            "step": walked.key(name),
            "host": one.host,
            "run": one.run if one.run and UUID(one.run) in runs else None,
            "verdict": one.answer.verdict,
            "by": one.answer.by,
            "rule": one.rule.verdict,
            "muted": bool(one.muted),
        }
        for walked in loaded.walks
        for name, answers in walked.hosts.items()
        for one in answers
    ]


def _fixes(loaded: Loaded, told: _People, hosts: set[UUID]) -> list[Json]:
    return [
        {
            **same(one, "id", "card", "what", "command", "risk", "way_back", "applied_at", "state"),
            "hypothesis": one.hypothesis_id,
            "hosts": [host for host in one.hosts if UUID(host) in hosts],
            "by": told.name(one.created_by, one.id),
            "at": one.created_at,
        }
        for one in loaded.fixes
    ]


def _verifications(
    loaded: Loaded, told: _People, known: Mapping[str, set[UUID]], captures: set[UUID]
) -> list[Json]:
    def here(ids: Iterable[str], where: set[UUID]) -> list[str]:
        return [one for one in ids if UUID(one) in where]

    return [
        {
            **same(one, "id", "kind", "primary", "bar", "result", "ended_at"),
            "fix": one.fix_id,
            "before": here(one.before, known["run"]),
            "made_before": here(one.made_before, captures),
            "after": here(one.after, captures),
            "control": one.control_host_id if one.control_host_id in known["host"] else None,
            "state": one.state if one.state in FINAL else "cancelled",
            "failure": one.failure if one.state in FINAL else NOT_CARRIED,
            "by": told.name(one.requested_by, one.id),
            "at": one.created_at,
        }
        for one in loaded.verifications
    ]


def _pins(session: Session, loaded: Loaded, told: _People, runs: set[UUID]) -> list[Json]:
    of = queries.runs_of(session, {one for pin in loaded.pins for one in ids_of(pin.ref)})
    found: dict[UUID, list[UUID]] = defaultdict(list)
    for pin in loaded.pins:
        found[pin.id] = list(dict.fromkeys(of[one] for one in ids_of(pin.ref) if of.get(one) in runs))
    return [_pin(one, found[one.id], told, queries.table_names(session, one)) for one in loaded.pins]


def _pin(one: Pin, runs: Sequence[UUID], told: _People, table: Json) -> Json:
    """A row is named by collector and kind: tables get other ids wherever the bytes are read again."""
    return {
        **same(one, "id", "kind", "view", "said", "step"),
        "ref": {**one.ref, **table},
        "runs": runs,
        "by": told.name(one.created_by, one.id),
        "at": one.created_at,
    }


def _verdicts(loaded: Loaded, told: _People, pins: Mapping[UUID, Json]) -> list[Json]:
    return [
        {
            **same(one, "id", "step", "verdict", "note"),
            "about": one.hypothesis,
            "host": one.host_id,
            "by": told.name(one.by, one.id),
            "at": one.created_at,
            "pins": [pin for pin in loaded.cited.get(one.id, ()) if pin in pins],
        }
        for one in loaded.verdicts
    ]
