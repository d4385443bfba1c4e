"""Frozen reports for tests: one with the same text everywhere, and incidents with content."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from culprit.incidents.reports import pseudonym_map
from culprit.incidents.reports.freeze import compute_digest, to_canonical_json
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.reports.report_version import ReportVersion
from culprit.infra.vault import get_vault

SHA = "ab" * 32


def content(text: str = "x", **more: Any) -> dict[str, Any]:
    """Return a report with one of everything; every text of a person or a host is `text`."""
    number = {
        "rule": "F-CPU-BUSY", "rule_title": "busy", "measure": "cpu.busy_pct.mean", "measure_title": "busy",
        "value": 97.25, "unit": "pct", "op": ">", "threshold": 80.0, "baseline": 12.0, "n": 300,
        "subject": {"process": text}, "cites": ["S1"],
    }  # fmt: skip
    answer = {
        "host": text, "verdict": "supports", "by": "rule", "who": text, "note": text, "reason": text,
        "numbers": [number], "pins": [{"kind": "line", "step": None, "cites": ["S2"]}],
    }  # fmt: skip
    step = {"key": "a/b", "question": "Is it busy?", "verdict": "supports", "answers": [answer]}
    hypothesis = {"key": "a/h", "summary": text, "cause": "busy", "state": "likely", "status": "supported",
                  "strength": "direct", "steps": [step]}  # fmt: skip
    window = {"host": text, "mean": 1.5, "load": 10.0, "values": [1.0, None, 2.0], "cites": ["S1"]}
    judged = {
        "kind": "plain", "state": "done", "measure": "cpu.busy_pct.mean", "measure_title": "busy", "better": "lower",
        "unit": "pct", "outcome": "verified", "change": -0.5, "low": -0.6, "high": -0.4, "p": 0.01, "minimum_change": 0.2,
        "confidence": 0.95, "load": {"before": 10.0, "after": 11.0, "change": 0.1, "unit": "per_s"}, "before": 3.0,
        "after": 1.5, "reasons": [text],
        "windows": [{"side": "before", **window}, {"side": "after", **window}],
    }  # fmt: skip
    line = {"n": 7, "text": text, "cut": True, "cited": True}
    tree = {
        "id": [0, 1, -2], "level": [0, 1, 2], "name": ["all", text, "pruned"], "module": ["", text, ""],
        "kind": ["root", "user", "pruned"], "value": [10, 10, 1], "own": [0, 9, 1],
    }  # fmt: skip
    return {
        "format": "culprit-report", "format_version": 1, "culprit": "0.1.0", "language": "en", "zone": "Europe/Berlin",
        "preset": "customer", "redacted": ["secret"], "at": "2026-01-01T00:00:00+00:00", "title": text,
        "summary": text, "impact": text, "detected_at": "2026-01-01T00:00:00+00:00", "mitigated_at": None,
        "incident": {
            "number": 7, "title": text, "state": "open", "severity": 2, "from": "2026-01-01T00:00:00+00:00", "to": None,
            "opened_at": "2026-01-01T00:00:00+00:00", "resolved_at": None,
            "symptom": {"service": text, "description": text,
                        "levels": [{"name": "latency", "before": 0.5, "after": 2.3, "unit": text}]},
        },
        "hosts": [{"host": text, "role": "suspect", "scope": {"kind": "cgroup", "value": text}}],
        "causes": [{"cause": "busy", "confidence": "likely", "numbers": [number], "fix": "Use less."}],
        "gates": [step], "chain": [hypothesis],
        "ruled_out": [{"summary": text, "cause": "busy", "state": "refuted", "steps": [step]}],
        "not_checked": [{"question": "And then?", "verdict": "not_collected", "reason": text, "waived": text}],
        "not_covered": ["the rest"],
        "fixes": [{"what": text, "command": text, "risk": text, "rollback": text, "state": "verified", "at": None,
                   "hosts": [text], "verifications": [judged]}],
        "pins": [], "follow_ups": [{"what": text, "who": text, "due": "2026-02-01T00:00:00Z", "done": False}],
        "timeline": [{"at": "2026-01-01T00:00:00+00:00", "text": text, "by": text, "note": text}],
        "sources": [
            {"id": "S1", "kind": "lines", "collector": text, "part": text, "sha256": SHA, "host": text,
             "state": "intact", "lines": [line]},
            {"id": "S2", "kind": "stacks", "collector": text, "part": "", "frame": text, "sha256": None, "host": text,
             "state": "intact", "lines": [{"n": None, "frames": [text, text], "text": "3", "cut": False, "cited": True}]},
            {"id": "S3", "kind": "lines", "collector": "c", "part": "p", "sha256": SHA, "host": "", "state": "gone",
             "lines": []},
        ],
        "trees": [{"id": "t", "kind": "on_cpu", "unit": "samples", "host": text, "total": 10, "samples": 10, "lost": 0,
                   "frames": [text], "tree": tree}],
        "artifacts": [{"collector": text, "part": text, "host": text, "size": 1234, "sha256": SHA}],
        "replaced": {"host": 3}, **more,
    }  # fmt: skip


def frozen(report_id: UUID, hosts: list[str], **more: Any) -> ReportVersion:
    """Return a version of a report that does not exist in the database."""
    text = to_canonical_json(content())
    report_version = ReportVersion(
        id=new_uuid7(),
        report_id=report_id,
        number=1,
        content=text,
        sha256=compute_digest(text),
        hosts=hosts,
        **more,
    )
    pseudonym_map.seal_names(report_version, {}, get_vault())
    return report_version
