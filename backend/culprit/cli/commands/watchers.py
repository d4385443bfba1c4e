"""culprit watcher create conditional|lookback, watcher list|stop"""

from __future__ import annotations

import re
import sys
from typing import Annotated
from uuid import uuid4

import typer

from culprit.cli.commands.hosts import find_host
from culprit.cli.commands.incidents import find_incident
from culprit.cli.connection import CliError, ExitCode, Server, find_target, render_message
from culprit.cli.terminal import AsJson, print_json, print_line, print_table
from culprit.json_types import Json

app = typer.Typer(no_args_is_help=True)
create = typer.Typer(no_args_is_help=True)
app.add_typer(create, name="create", help="Start a watcher on a host.")
HostName = Annotated[str, typer.Argument(help="Name or ID of the host")]
Reason = Annotated[str, typer.Option(help="Reason, shown in the list of watchers")]
START_KINDS = ("unit", "container", "process", "group")
_THRESHOLD = re.compile(
    r"(?P<kind>[a-z0-9_]+)(:(?P<key>[^<>=@]+))?(?P<op>[<>])=?(?P<limit>[0-9.]+)(@(?P<hits>\d+)/(?P<readings>\d+))?"
)


def register_commands(root: typer.Typer) -> None:
    """Add the command group `watcher`."""
    root.add_typer(app, name="watcher", help="Look-back buffers and conditional captures on hosts.")


@create.command("conditional")
def create_conditional(  # noqa: PLR0917
    host: HostName,
    when: Annotated[
        list[str],
        typer.Option(
            help="Start: unit:NAME, container:NAME, process:NAME or group:PATH. Threshold:"
            " KIND[:KEY]>LIMIT[@HITS/READINGS], for example 'stall_pct:io.some>20@3/5'. Can be repeated"
        ),
    ],
    plan: Annotated[str, typer.Option(help="Plan of the capture")] = "triage",
    seconds: Annotated[int | None, typer.Option(help="Duration of the capture")] = None,
    hours: Annotated[float, typer.Option(help="How long the watcher runs, at most 24")] = 4.0,
    max_captures: Annotated[int, typer.Option(help="Maximum number of captures, at most 10")] = 1,
    cooldown: Annotated[int, typer.Option(help="Seconds between two captures, at least 60")] = 600,
    incident: Annotated[
        str | None, typer.Option(help="Number or ID of an incident that receives the captures as evidence")
    ] = None,
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Capture a host when a unit starts or a threshold is crossed."""
    server = Server(find_target())
    body: Json = {
        "kind": "conditional",
        "host_id": find_host(server, host)["id"],
        "conditions": [parse_condition(text) for text in when],
        "plan": plan,
        "seconds": seconds,
        "hours": hours,
        "max_captures": max_captures,
        "cooldown_s": cooldown,
        "reason": reason,
    }
    if incident is not None:
        body["incident_id"] = find_incident(server, incident)["id"]
    _print_created(server.post("/watchers", body, **{"Idempotency-Key": str(uuid4())}), as_json=as_json)


@create.command("lookback")
def create_lookback(  # noqa: PLR0917
    host: HostName,
    minutes: Annotated[float, typer.Option(help="Minutes to keep, 1 to 30")] = 10.0,
    hours: Annotated[float, typer.Option(help="How long the watcher runs, at most 24")] = 8.0,
    stacks: Annotated[
        bool, typer.Option("--stacks", help="Also keep stacks of all CPUs, if the host allows it")
    ] = False,
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Keep the last minutes of softirqs, pressure, memory, disks and network on a host."""
    server = Server(find_target())
    body: Json = {
        "kind": "lookback",
        "host_id": find_host(server, host)["id"],
        "seconds": round(minutes * 60),
        "stacks": stacks,
        "hours": hours,
        "reason": reason,
    }
    _print_created(server.post("/watchers", body, **{"Idempotency-Key": str(uuid4())}), as_json=as_json)


@app.command("list")
def list_watchers(
    kind: Annotated[str | None, typer.Option(help="lookback or conditional")] = None,
    ended: Annotated[bool, typer.Option("--ended", help="Include watchers that have ended")] = False,
    as_json: AsJson = False,
) -> None:
    """List the watchers on hosts and what they cost there."""
    watchers = Server(find_target()).get("/watchers", kind=kind, include_ended=ended, limit=200)["items"]
    if as_json:
        print_json(watchers)
        return
    rows = [
        [
            f"#{watcher['number']}",
            watcher["kind"],
            watcher["host"]["name"],
            watcher["state"],
            _describe_progress(watcher),
            watcher["expires_at"],
            _describe_cost(watcher),
            _describe_problem(watcher),
        ]
        for watcher in watchers
    ]
    print_table(["NUMBER", "TYPE", "HOST", "STATE", "PROGRESS", "EXPIRES", "COST", "REASON"], rows)


@app.command("stop")
def stop_watcher(
    name: Annotated[str, typer.Argument(help="Number or ID of the watcher, or name of its host")],
    kind: Annotated[str | None, typer.Option(help="lookback or conditional")] = None,
) -> None:
    """Stop a watcher and remove it from the host."""
    server = Server(find_target())
    matches = [
        watcher
        for watcher in server.get("/watchers", kind=kind, limit=200)["items"]
        if name.removeprefix("#")
        in {str(watcher["number"]), watcher["id"], watcher["host"]["name"], watcher["host"]["id"]}
    ]
    if not matches:
        raise CliError(ExitCode.REFUSED, f"No watcher '{name}'. List watchers with './culprit watcher list'.")
    if len(matches) > 1:
        raise CliError(ExitCode.USAGE, f"{name} has {len(matches)} watchers. Use the number or --kind.")
    stopped = server.post(f"/watchers/{matches[0]['id']}/stop", {})
    print_line(sys.stdout, f"#{stopped['number']} on {stopped['host']['name']}: stopping")


def parse_condition(text: str) -> Json:
    """Return `process:java` or `load1>20@3/5` in the form of the API. Raises CliError."""
    kind, colon, key = text.partition(":")
    if colon and kind in START_KINDS and not set("<>") & set(key):
        return {"kind": f"{kind}_start", "key": key}
    match = _THRESHOLD.fullmatch(text)
    if match is None:
        raise CliError(
            ExitCode.USAGE,
            f"'{text}' is not a condition. Use unit:NAME for a start or load1>20@3/5 for a threshold.",
        )
    return {
        "kind": match["kind"],
        "key": match["key"] or "",
        "op": "over" if match["op"] == ">" else "under",
        "limit": float(match["limit"]),
        "required_hits": int(match["hits"] or 1),
        "window_readings": int(match["readings"] or 1),
    }


def format_condition(condition: Json) -> str:
    """Return a condition as it is typed."""
    if condition["is_start"]:
        return f"{condition['kind'].removesuffix('_start')}:{condition['key']}"
    key = f":{condition['key']}" if condition["key"] else ""
    hits, readings = condition["required_hits"], condition["window_readings"]
    window = f"@{hits}/{readings}" if readings > 1 else ""
    return (
        f"{condition['kind']}{key}{'>' if condition['op'] == 'over' else '<'}{condition['limit']:g}{window}"
    )


def _print_created(watcher: Json, *, as_json: bool) -> None:
    if as_json:
        print_json(watcher)
        return
    print_line(sys.stdout, f"#{watcher['number']} on {watcher['host']['name']} until {watcher['expires_at']}")


def _describe_progress(watcher: Json) -> str:
    if watcher["kind"] == "lookback":
        return f"{watcher['buffered_s'] or 0:.0f} of {watcher['lookback_s']} s"
    conditions = " or ".join(format_condition(condition) for condition in watcher["conditions"])
    return f"{conditions}: {watcher['capture_count']} of {watcher['max_captures']} captures"


def _describe_cost(watcher: Json) -> str:
    cost = watcher["cost"]
    if cost is None:
        return "-"
    share = "-" if cost["cpu_pct"] is None else f"{cost['cpu_pct']:.2f} % of a core"
    return f"{share}, {cost['rss_kb'] / 1024:.1f} MB, buffer {cost['lookback_bytes'] / 1048576:.1f} MB"


def _describe_problem(watcher: Json) -> str:
    problem = watcher["failure"] or watcher["wait_reason"] or (watcher["rejection"] or {}).get("reason")
    return (render_message(problem) or "") if problem else ""
