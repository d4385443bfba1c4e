"""The tools: what can be asked, what arguments they take, and how an answer of the API is told in short."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from culprit.cli.connection import sentence
from culprit.cli.mcp.bounded import paged
from culprit.cli.mcp.protocol import INVALID_PARAMS, Refused

Json = dict[str, Any]
PAGE = 20


class Reader(Protocol):
    """What tools may do with the server: read."""

    def get(self, path: str, **params: Any) -> Any:
        """GET under /api/v1."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One question. `work` answers with data that is told as it is."""

    name: str
    says: str
    properties: Mapping[str, Json]
    work: Callable[[Reader, Json], Any]
    required: tuple[str, ...] = ()

    @property
    def schema(self) -> Json:
        """Of its arguments."""
        return {
            "type": "object",
            "properties": dict(self.properties),
            "required": list(self.required),
            "additionalProperties": False,
        }

    def listed(self) -> Json:
        """As a client is told of it."""
        hints = {
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        }
        return {"name": self.name, "description": self.says, "inputSchema": self.schema, "annotations": hints}


PART = {"type": "string", "maxLength": 100, "description": "part of a name"}
ID = {"type": "string", "maxLength": 36, "description": "an id (UUID) from another answer"}
MORE = {"type": "string", "maxLength": 500, "description": "`more` of the answer before, to go on"}


def _page(server: Reader, path: str, given: Json, shown: Callable[[Json], Json], **params: Any) -> Json:
    found = server.get(path, limit=PAGE, cursor=given.get("more"), **params)
    return {"items": [shown(one) for one in found["items"]], "more": found["next"]}


def _start(given: Json) -> int:
    """Where to go on in something that has no pages."""
    text = str(given.get("more", "0"))
    if not text.isdecimal() or len(text) > 6:
        raise Refused(INVALID_PARAMS, "Argument more does not fit: it is `more` of the answer before.")
    return int(text)


def id_of(text: str) -> str:
    """An id as part of a path: nothing else may stand there."""
    if len(text) != 36 or not all(one in "0123456789abcdef-" for one in text):
        raise Refused(INVALID_PARAMS, "This is no id: one is 36 characters of 0-9, a-f and -.")
    return text


def hosts(server: Reader, given: Json) -> Json:
    """Hosts by name or label."""

    def shown(one: Json) -> Json:
        run = one.get("last_run") or {}
        return {
            "id": one["id"],
            "name": one["name"],
            "labels": one["labels"],
            "state": one["state"],
            "last_run": run,
        }

    return _page(server, "/hosts", given, shown, q=given.get("query"), label=given.get("label"))


def captures(server: Reader, given: Json) -> Json:
    """Captures, the newest first."""

    def shown(one: Json) -> Json:
        runs = [{"run_id": run["id"], "host": run.get("host"), "state": run["state"]} for run in one["runs"]]
        same = ("id", "number", "plan", "state", "reason", "source", "created_at", "ended_at")
        return {name: one[name] for name in same} | {"runs": runs}

    host = id_of(given["host_id"]) if "host_id" in given else None
    return _page(server, "/captures", given, shown, host=host)


def finding(one: Json) -> Json:
    """What a rule concluded, with its numbers and where they were read."""
    numbers = [
        {
            **{
                name: number.get(name)
                for name in ("measure", "value", "unit", "op", "threshold", "baseline", "n", "subject")
            },
            "cited": [
                {name: cited.get(name) for name in ("collector", "part", "lines", "frame", "artifact")}
                for cited in number.get("citations", [])[:2]
            ],
        }
        for number in one.get("numbers", [])
    ]
    same = {name: one.get(name) for name in ("rule", "state", "severity", "grade", "subject")}
    return same | {"numbers": numbers, "why_not_sure": sentence(one.get("reason"))}


def findings(server: Reader, given: Json) -> Json:
    """What rules said about a run, or about the newest one of a host."""
    if ("run_id" in given) == ("host_id" in given):
        raise Refused(INVALID_PARAMS, "Give run_id or host_id.")
    path = f"/runs/{id_of(given['run_id'])}" if "run_id" in given else f"/hosts/{id_of(given['host_id'])}"
    found = server.get(f"{path}/findings")
    ranking = found.get("ranking") or {}
    items, more = paged(found["findings"], _start(given), finding)
    return {
        "run_id": found["run_id"],
        "evaluated_at": found["evaluated_at"],
        "causes": ranking.get("causes"),
        "ruled_out": ranking.get("ruled_out"),
        "not_collected": ranking.get("not_collected"),
        "findings": items,
        "more": None if more is None else str(more),
        "quiet_rules": len(found.get("quiet") or []),
    }


def incidents(server: Reader, given: Json) -> Json:
    """Incidents, the newest first."""
    same = ("id", "number", "title", "state", "severity", "hosts", "causes", "fixes", "window", "symptom")
    host = id_of(given["host_id"]) if "host_id" in given else None
    return _page(
        server,
        "/incidents",
        given,
        lambda one: {name: one[name] for name in same},
        state=given.get("state"),
        host=host,
    )


def incident(server: Reader, given: Json) -> Json:
    """The chain of one incident: hypotheses, and the steps with their verdicts and evidence, some at a time."""
    found = server.get(f"/incidents/{id_of(given['incident_id'])}")
    names = {host["id"]: host["name"] for host in found["hosts"]}

    def step(one: Json) -> Json:
        answers = [
            {
                "host": names.get(each["host_id"], each["host_id"]),
                "verdict": each["verdict"],
                "by": each["by"],
                "run_id": each["run_id"],
                "note": (each.get("person") or {}).get("note"),
                "reason": sentence(each.get("reason")),
                "findings": [finding(said) for said in each["findings"][:3]],
            }
            for each in one["hosts"]
        ]
        same = {name: one[name] for name in ("key", "about", "verdict")}
        return same | {"asks": _english(one["asks"]), "hosts": answers}

    steps, more = paged(found["steps"], _start(given), step)
    told: Json = {"steps": steps, "more": None if more is None else str(more)}
    if _start(given):
        return told
    same = ("number", "title", "state", "severity", "symptom", "window", "gaps", "causes", "fixes")
    hypotheses = [
        {name: one[name] for name in ("key", "state", "standing", "cause", "supports", "refutes")}
        | {"says": _english(one["says"])}
        for one in found["hypotheses"]
    ]
    pins = [{name: one[name] for name in ("id", "kind", "step", "said")} for one in found["pins"]]
    return (
        {name: found[name] for name in same} | {"hosts": names, "hypotheses": hypotheses, "pins": pins} | told
    )


def profile_top(server: Reader, given: Json) -> Json:
    """The heaviest frames of the profiles of a run."""
    run_id = id_of(given["run_id"])
    listed = server.get("/profiles", run=run_id, limit=PAGE)["items"]
    ready = [one for one in listed if one["state"] == "done"]
    limit = given.get("frames", 15)
    told = []
    for one in ready[:4]:
        table = server.get(f"/profiles/{one['id']}/table", limit=limit)
        same = ("id", "kind", "event", "unit", "samples", "weight", "lost", "unknown_share")
        told.append({name: one[name] for name in same} | {"frames": table["rows"][:limit]})
    return {"run_id": run_id, "profiles": told, "not_ready": len(listed) - len(ready)}


def fleet(server: Reader, given: Json) -> Json:
    """What fired where, over all hosts."""
    found = server.get("/fleet/findings", has=given.get("label"))
    hosts_shown, more = paged(found["hosts"], _start(given), lambda one: one)
    rules = found.get("rules", []) if not _start(given) else []
    return {"rules": rules, "hosts": hosts_shown, "more": None if more is None else str(more)}


def _english(text: Any) -> Any:
    return text.get("en") if isinstance(text, dict) else text


STATES = ["open", "investigating", "identified", "mitigated", "resolved"]
LABEL = {"type": "string", "maxLength": 200, "description": "a label as `name:value`"}
TOOLS: Mapping[str, Tool] = {
    one.name: one
    for one in (
        Tool(
            "list_hosts",
            "Hosts that may be captured, with labels and their last run. Search by part of a name or by label.",
            {
                "query": PART,
                "label": LABEL,
                "more": MORE,
            },
            hosts,
        ),
        Tool(
            "list_captures",
            "Captures, the newest first, with their runs.",
            {"host_id": ID, "more": MORE},
            captures,
        ),
        Tool(
            "get_findings",
            "What rules concluded about a run, or about the newest evaluated run of a host: numbers, thresholds, and "
            "the lines of artifacts that they were read from; causes, what was ruled out, what was not collected.",
            {"run_id": ID, "host_id": ID, "more": MORE},
            findings,
        ),
        Tool(
            "list_incidents",
            "Incidents, the newest first.",
            {
                "state": {"type": "string", "enum": STATES, "description": f"one of {', '.join(STATES)}"},
                "host_id": ID,
                "more": MORE,
            },
            incidents,
        ),
        Tool(
            "get_incident",
            "One incident: symptom, hypotheses, and the chain of steps with verdicts and evidence for each host. "
            "A step that is not_collected refutes nothing.",
            {"incident_id": ID, "more": MORE},
            incident,
            ("incident_id",),
        ),
        Tool(
            "get_profile_top",
            "The heaviest frames of the profiles of a run (flame graphs as a table).",
            {
                "run_id": ID,
                "frames": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 50,
                    "description": "how many, 1 to 50",
                },
            },
            profile_top,
            ("run_id",),
        ),
        Tool(
            "get_fleet_findings", "Which rules fired on which hosts.", {"label": LABEL, "more": MORE}, fleet
        ),
    )
}
