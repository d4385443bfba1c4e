"""The JSON that `--json` prints. These shapes are stable: fields are added, never renamed or removed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from culprit.cli.connection import Exit, Server, sentence

TOP = 30  # frames of a profile
ENDED = frozenset({"done", "partial", "failed", "cancelled", "expired"})
STATUS: Mapping[str, Exit] = {
    "partial": Exit.PARTIAL,
    "failed": Exit.FAILED,
    "expired": Exit.FAILED,
    "cancelled": Exit.CANCELLED,
}
Json = dict[str, Any]


def capture(read: Json) -> Json:
    """{"capture", "state", "runs": [{"id", "host", "state", "seconds", "collectors": [{…}]}]}"""
    return {"capture": read["id"], "state": read["state"], "runs": [_run(run) for run in read["runs"]]}


def _run(run: Json) -> Json:
    return {
        "id": run["id"],
        "host": run["host"]["name"] if run["host"] else None,
        "state": run["state"],
        "seconds": run["seconds"],
        "collectors": [
            {
                "id": one["id"],
                "state": one["state"],
                "reason": sentence(one["reason"]),
                "bytes": one["bytes"],
            }
            for one in run["collectors"]
        ],
    }


def host(read: Json) -> Json:
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


def check(read: Json, host_name: str) -> Json:
    """{"host", "state", "failure", "facts", "checks", "collectors", "clock", "timings"}"""

    def told(rows: list[Json] | None) -> list[Json]:
        return [
            {**row, "reason": sentence(row.get("reason")), "mend": sentence(row.get("mend"))}
            for row in rows or []
        ]

    return {
        "host": host_name,
        "state": read["state"],
        "failure": sentence(read["failure"]),
        "facts": read["facts"],
        "checks": told(read["checks"]),
        "collectors": told(read["collectors"]),
        "clock": read["clock"],
        "timings": read["timings"],
    }


def show(server: Server, run: Json) -> Json:
    """{"run", "host", "facts", "series", "profiles", "sched", "events"}"""
    run_id = run["id"]
    facts = run.get("facts")
    if facts is None and run["host"]:
        found = server.find(f"/hosts/{run['host']['id']}")
        facts = found["facts"] if found else None
    return {
        "run": run_id,
        "host": run["host"]["name"] if run["host"] else None,
        "facts": facts,
        "series": [
            {
                "id": one["metric"],
                "labels": one["labels"],
                **{name: one[name] for name in ("unit", "n", "min", "mean", "max")},
            }
            for one in items(server.get(f"/runs/{run_id}/series"))
        ],
        "profiles": [_profile(server, one) for one in run["profiles"]],
        "sched": _sched(server, run),
        "events": [
            {**one, "title": sentence(one["title"])} for one in items(server.get(f"/runs/{run_id}/events"))
        ],
    }


def items(answer: Any) -> list[Json]:
    """The rows of an answer, whether it is a page or a plain list."""
    rows: list[Json] = answer["items"] if isinstance(answer, Mapping) else answer
    return rows


def _profile(server: Server, profile: Json) -> Json:
    top: list[Json] = []
    # Scheduler events have no stacks: their table is a field of its own.
    if profile["state"] == "ready" and profile["kind"] != "sched":
        table = server.get(f"/profiles/{profile['id']}/table")
        top = [{name: row[name] for name in ("frame", "self", "total")} for row in table["rows"][:TOP]]
    return {
        "kind": profile["kind"],
        "state": profile["state"],
        "failure": sentence(profile["failure"]),
        "samples": profile["samples"],
        "lost": profile["lost"],
        "unknown_share": profile["unknown_share"],
        "top": top,
    }


def _sched(server: Server, run: Json) -> list[Json]:
    if not any(one["kind"] == "sched" and one["state"] == "ready" for one in run["profiles"]):
        return []
    names = ("task", "pid", "tid", "runtime_ms", "switches", "delay_avg_ms", "delay_p99_ms", "delay_max_ms")
    return [{name: row[name] for name in names} for row in server.get(f"/runs/{run['id']}/sched")["tasks"]]
