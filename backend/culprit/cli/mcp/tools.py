"""Tools of the MCP server: arguments, API requests and short answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from culprit.cli.connection import render_message
from culprit.cli.mcp.bounded import page_items
from culprit.cli.mcp.protocol import INVALID_PARAMS, McpError
from culprit.json_types import Json

PAGE = 20


class ToolReader(Protocol):
    """GET requests that tools may send."""

    def get(self, path: str, **params: Any) -> Any:
        """Send a GET below /api/v1."""


@dataclass(frozen=True, slots=True)
class McpTool:
    """One tool. `work` takes the server and the arguments and returns data."""

    name: str
    description: str
    properties: Mapping[str, Json]
    work: Callable[[ToolReader, Json], Any]
    required: tuple[str, ...] = ()

    @property
    def schema(self) -> Json:
        """Return the JSON Schema of the arguments."""
        return {
            "type": "object",
            "properties": dict(self.properties),
            "required": list(self.required),
            "additionalProperties": False,
        }

    def to_json(self) -> Json:
        """Return the description that a client lists."""
        hints = {
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        }
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.schema,
            "annotations": hints,
        }


PART = {"type": "string", "maxLength": 100, "description": "part of a name"}
ID = {"type": "string", "maxLength": 36, "description": "an ID (UUID) from another answer"}
MORE = {"type": "string", "maxLength": 500, "description": "`more` of the previous answer, to continue"}


def _fetch_page(
    server: ToolReader, path: str, supplied: Json, displayed: Callable[[Json], Json], **params: Any
) -> Json:
    result = server.get(path, limit=PAGE, cursor=supplied.get("more"), **params)
    return {"items": [displayed(item) for item in result["items"]], "more": result["next"]}


def _get_offset(supplied: Json) -> int:
    """Return the offset at which a list without pages continues."""
    text = str(supplied.get("more", "0"))
    if not text.isdecimal() or len(text) > 6:
        raise McpError(
            INVALID_PARAMS, "Argument more is not valid. Use the value of `more` in the previous answer."
        )
    return int(text)


def parse_id(text: str) -> str:
    """Return an ID as part of a path. Raises McpError for any other text."""
    if len(text) != 36 or not all(item in "0123456789abcdef-" for item in text):
        raise McpError(INVALID_PARAMS, "Not an ID. An ID has 36 characters: 0-9, a-f and -.")
    return text


def list_hosts(server: ToolReader, supplied: Json) -> Json:
    """List hosts by name or label."""

    def format_item(item: Json) -> Json:
        run = item.get("last_run") or {}
        return {
            "id": item["id"],
            "name": item["name"],
            "labels": item["labels"],
            "state": item["state"],
            "last_run": run,
        }

    return _fetch_page(
        server, "/hosts", supplied, format_item, q=supplied.get("query"), label=supplied.get("label")
    )


def list_captures(server: ToolReader, supplied: Json) -> Json:
    """List captures, the newest first."""

    def format_item(item: Json) -> Json:
        runs = [{"run_id": run["id"], "host": run.get("host"), "state": run["state"]} for run in item["runs"]]
        same = ("id", "number", "plan", "state", "reason", "source", "created_at", "ended_at")
        return {name: item[name] for name in same} | {"runs": runs}

    host = parse_id(supplied["host_id"]) if "host_id" in supplied else None
    return _fetch_page(server, "/captures", supplied, format_item, host=host)


def describe_finding(item: Json) -> Json:
    """Return what a rule concluded, with its numbers and their sources."""
    numbers = [
        {
            **{
                name: number.get(name)
                for name in (
                    "measure",
                    "value",
                    "unit",
                    "op",
                    "threshold",
                    "baseline",
                    "sample_count",
                    "kind",
                    "low",
                    "high",
                    "subject",
                )
            },
            "cited": [
                {name: cited.get(name) for name in ("collector", "part", "lines", "frame", "artifact")}
                for cited in number.get("citations", [])[:2]
            ],
        }
        for number in item.get("numbers", [])
    ]
    same = {name: item.get(name) for name in ("rule", "state", "severity", "strength", "subject")}
    return same | {"numbers": numbers, "why_not_sure": render_message(item.get("reason"))}


def list_findings(server: ToolReader, supplied: Json) -> Json:
    """List the findings of a run or of the newest run of a host."""
    if ("run_id" in supplied) == ("host_id" in supplied):
        raise McpError(INVALID_PARAMS, "Provide run_id or host_id.")
    path = (
        f"/runs/{parse_id(supplied['run_id'])}"
        if "run_id" in supplied
        else f"/hosts/{parse_id(supplied['host_id'])}"
    )
    result = server.get(f"{path}/findings")
    ranking = result.get("ranking") or {}
    items, more = page_items(result["findings"], _get_offset(supplied), describe_finding)
    return {
        "run_id": result["run_id"],
        "evaluated_at": result["evaluated_at"],
        "causes": ranking.get("causes"),
        "ruled_out": ranking.get("ruled_out"),
        "not_collected": ranking.get("not_collected"),
        "findings": items,
        "more": None if more is None else str(more),
        "quiet_rules": len(result.get("not_matched") or []),
    }


def list_incidents(server: ToolReader, supplied: Json) -> Json:
    """List incidents, the newest first."""
    same = ("id", "number", "title", "state", "severity", "hosts", "causes", "fixes", "window", "symptom")
    host = parse_id(supplied["host_id"]) if "host_id" in supplied else None
    return _fetch_page(
        server,
        "/incidents",
        supplied,
        lambda item: {name: item[name] for name in same},
        state=supplied.get("state"),
        host=host,
    )


def get_incident(server: ToolReader, supplied: Json) -> Json:
    """Return one incident: hypotheses, and a page of steps with verdicts and evidence."""
    result = server.get(f"/incidents/{parse_id(supplied['incident_id'])}")
    names = {host["id"]: host["name"] for host in result["hosts"]}

    def step(item: Json) -> Json:
        answers = [
            {
                "host": names.get(each["host_id"], each["host_id"]),
                "verdict": each["verdict"],
                "by": each["by"],
                "run_id": each["run_id"],
                "note": (each.get("person") or {}).get("note"),
                "reason": render_message(each.get("reason")),
                "findings": [describe_finding(finding) for finding in each["findings"][:3]],
            }
            for each in item["hosts"]
        ]
        same = {name: item[name] for name in ("key", "about", "verdict")}
        return same | {"question": _select_english(item["question"]), "hosts": answers}

    steps, more = page_items(result["steps"], _get_offset(supplied), step)
    reported: Json = {"steps": steps, "more": None if more is None else str(more)}
    if _get_offset(supplied):
        return reported
    same = ("number", "title", "state", "severity", "symptom", "window", "gaps", "causes", "fixes")
    hypotheses = [
        {name: hypothesis[name] for name in ("key", "state", "status", "cause", "supports", "refutes")}
        | {"summary": _select_english(hypothesis["summary"])}
        for hypothesis in result["hypotheses"]
    ]
    pins = [{name: pin[name] for name in ("id", "kind", "step", "snapshot")} for pin in result["pins"]]
    return (
        {name: result[name] for name in same}
        | {"hosts": names, "hypotheses": hypotheses, "pins": pins}
        | reported
    )


def profile_top(server: ToolReader, supplied: Json) -> Json:
    """Return the heaviest frames of the profiles of a run."""
    run_id = parse_id(supplied["run_id"])
    listed = server.get("/profiles", run=run_id, limit=PAGE)["items"]
    ready = [item for item in listed if item["state"] == "done"]
    limit = supplied.get("frames", 15)
    reported = []
    for item in ready[:4]:
        table = server.get(f"/profiles/{item['id']}/table", limit=limit)
        same = ("id", "kind", "event", "unit", "samples", "weight", "lost", "unknown_share")
        reported.append({name: item[name] for name in same} | {"frames": table["rows"][:limit]})
    return {"run_id": run_id, "profiles": reported, "not_ready": len(listed) - len(ready)}


def list_fleet_results(server: ToolReader, supplied: Json) -> Json:
    """Return which rules matched on which hosts."""
    result = server.get("/fleet/findings", has=supplied.get("label"))
    hosts_displayed, more = page_items(result["hosts"], _get_offset(supplied), lambda item: item)
    rules = result.get("rules", []) if not _get_offset(supplied) else []
    return {"rules": rules, "hosts": hosts_displayed, "more": None if more is None else str(more)}


def _select_english(text: Any) -> Any:
    return text.get("en") if isinstance(text, dict) else text


STATES = ["open", "investigating", "identified", "mitigated", "resolved"]
LABEL = {"type": "string", "maxLength": 200, "description": "a label as `name:value`"}
TOOLS: Mapping[str, McpTool] = {
    mcp_tool.name: mcp_tool
    for mcp_tool in (
        McpTool(
            "list_hosts",
            "Hosts with labels and their last run. Search by part of a name or by label.",
            {
                "query": PART,
                "label": LABEL,
                "more": MORE,
            },
            list_hosts,
        ),
        McpTool(
            "list_captures",
            "Captures with their runs, the newest first.",
            {"host_id": ID, "more": MORE},
            list_captures,
        ),
        McpTool(
            "get_findings",
            "What rules concluded about a run, or about the newest evaluated run of a host: numbers, thresholds, and "
            "the lines of artifacts that they were read from; causes, what was ruled out, what was not collected.",
            {"run_id": ID, "host_id": ID, "more": MORE},
            list_findings,
        ),
        McpTool(
            "list_incidents",
            "Incidents, the newest first.",
            {
                "state": {"type": "string", "enum": STATES, "description": f"one of {', '.join(STATES)}"},
                "host_id": ID,
                "more": MORE,
            },
            list_incidents,
        ),
        McpTool(
            "get_incident",
            "One incident: symptom, hypotheses, and the chain of steps with verdicts and evidence for each host. "
            "A step that is not_collected refutes nothing.",
            {"incident_id": ID, "more": MORE},
            get_incident,
            ("incident_id",),
        ),
        McpTool(
            "get_profile_top",
            "The heaviest frames of the profiles of a run (flame graphs as a table).",
            {
                "run_id": ID,
                "frames": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 50,
                    "description": "number of frames, 1 to 50",
                },
            },
            profile_top,
            ("run_id",),
        ),
        McpTool(
            "get_fleet_findings",
            "Which rules matched on which hosts.",
            {"label": LABEL, "more": MORE},
            list_fleet_results,
        ),
    )
}
