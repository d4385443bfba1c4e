"""JSON that `--json` prints. The shapes are stable: fields are added, never renamed or removed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from culprit.cli.connection import ExitCode, Server, render_message
from culprit.json_types import Json

TOP = 30  # frames of a profile
ENDED = frozenset({"done", "partial", "failed", "canceled", "expired"})
STATUS: Mapping[str, ExitCode] = {
    "partial": ExitCode.PARTIAL,
    "failed": ExitCode.FAILED,
    "expired": ExitCode.FAILED,
    "canceled": ExitCode.CANCELED,
}


def shape_capture(read: Json) -> Json:
    """{"capture", "state", "runs": [{"id", "host", "state", "seconds", "collectors": [{…}]}]}"""
    return {
        "capture": read["id"],
        "state": read["state"],
        "runs": [_shape_run_summary(run) for run in read["runs"]],
    }


def _shape_run_summary(run: Json) -> Json:
    return {
        "id": run["id"],
        "host": run["host"]["name"] if run["host"] else None,
        "state": run["state"],
        "seconds": run["seconds"],
        "collectors": [
            {
                "id": collector["id"],
                "state": collector["state"],
                "reason": render_message(collector["reason"]),
                "bytes": collector["bytes"],
            }
            for collector in run["collectors"]
        ],
    }


def shape_host(read: Json) -> Json:
    """{"id", "name", "address", "port", "user", "state", "host_key", "labels", "facts", "paste"}"""
    opens = read["credential"] or {}
    return {
        "id": read["id"],
        "name": read["name"],
        "address": read["address"],
        "port": read["port"],
        "user": read["username"],
        "state": read["state"],
        "host_key": read["host_key"]["fingerprint"] if read["host_key"] else None,
        "labels": read["labels"],
        "facts": read["facts"],
        "paste": opens.get("authorized_keys_line"),
    }


def shape_check(read: Json, host_name: str) -> Json:
    """{"host", "state", "failure", "facts", "checks", "collectors", "clock", "timings"}"""

    def render_rows(rows: list[Json] | None) -> list[Json]:
        return [
            {**row, "reason": render_message(row.get("reason")), "remedy": render_message(row.get("remedy"))}
            for row in rows or []
        ]

    return {
        "host": host_name,
        "state": read["state"],
        "failure": render_message(read["failure"]),
        "facts": read["facts"],
        "checks": render_rows(read["checks"]),
        "collectors": render_rows(read["collectors"]),
        "clock": read["clock"],
        "timings": read["timings"],
    }


def shape_run(server: Server, run: Json) -> Json:
    """{"run", "host", "facts", "series", "profiles", "sched", "events"}"""
    run_id = run["id"]
    facts = run.get("facts")
    if facts is None and run["host"]:
        result = server.find(f"/hosts/{run['host']['id']}")
        facts = result["facts"] if result else None
    return {
        "run": run_id,
        "host": run["host"]["name"] if run["host"] else None,
        "facts": facts,
        "series": [
            {
                "id": item["metric"],
                "labels": item["labels"],
                **{name: item[name] for name in ("unit", "sample_count", "min", "mean", "max")},
            }
            for item in list_items(server.get(f"/runs/{run_id}/series"))
        ],
        "profiles": [_shape_profile(server, profile) for profile in run["profiles"]],
        "sched": _shape_scheduling(server, run),
        "events": [
            {**item, "title": render_message(item["title"])}
            for item in list_items(server.get(f"/runs/{run_id}/events"))
        ],
    }


def list_items(answer: Any) -> list[Json]:
    """Return the rows of an answer, which is a page or a plain list."""
    rows: list[Json] = answer["items"] if isinstance(answer, Mapping) else answer
    return rows


def _shape_profile(server: Server, profile: Json) -> Json:
    top: list[Json] = []
    # Scheduler events have no stacks: their table is a field of its own.
    if profile["state"] == "ready" and profile["kind"] != "sched":
        table = server.get(f"/profiles/{profile['id']}/table")
        top = [{name: row[name] for name in ("frame", "self", "total")} for row in table["rows"][:TOP]]
    return {
        "kind": profile["kind"],
        "state": profile["state"],
        "failure": render_message(profile["failure"]),
        "samples": profile["samples"],
        "lost": profile["lost"],
        "unknown_share": profile["unknown_share"],
        "top": top,
    }


def _shape_scheduling(server: Server, run: Json) -> list[Json]:
    if not any(profile["kind"] == "sched" and profile["state"] == "ready" for profile in run["profiles"]):
        return []
    names = ("task", "pid", "tid", "runtime_ms", "switches", "delay_avg_ms", "delay_p99_ms", "delay_max_ms")
    return [{name: row[name] for name in names} for row in server.get(f"/runs/{run['id']}/sched")["tasks"]]
