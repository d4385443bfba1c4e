"""culprit arm|armed|disarm, ring start|stop|list"""

from __future__ import annotations

import re
import sys
from typing import Annotated, Any
from uuid import uuid4

import typer

from culprit.cli.connection import Exit, Server, Stop, find_target, sentence
from culprit.cli.hosts import find_host
from culprit.cli.incidents import find_incident
from culprit.cli.terminal import AsJson, print_json, say_to, table

ring = typer.Typer(no_args_is_help=True)
Json = dict[str, Any]
_THRESHOLD = re.compile(
    r"(?P<kind>[a-z0-9_]+)(:(?P<key>[^<>=@]+))?(?P<op>[<>])=?(?P<limit>[0-9.]+)(@(?P<hits>\d+)/(?P<of>\d+))?"
)
STARTS = ("unit", "container", "process", "group")


def register(app: typer.Typer) -> None:
    """The commands that stand at the top."""
    app.command("arm")(arm)
    app.command("armed")(armed)
    app.command("disarm")(disarm)
    app.add_typer(ring, name="ring", help="Keep the last minutes on a host, for the captures of it.")


def arm(  # noqa: PLR0917
    host: Annotated[str, typer.Argument(help="Name or id of the host")],
    when: Annotated[
        list[str],
        typer.Option(
            help="unit:NAME, container:NAME, process:NAME or group:PATH for a start; else KIND[:KEY]>LIMIT[@HITS/OF],"
            " as in 'stall_pct:io.some>20@3/5'. May be repeated"
        ),
    ],
    plan: Annotated[str, typer.Option(help="What is captured then")] = "triage",
    seconds: Annotated[int | None, typer.Option(help="For how long")] = None,
    hours: Annotated[float, typer.Option(help="For how long it waits, at most 24")] = 4.0,
    times: Annotated[int, typer.Option(help="How often it may capture, at most 10")] = 1,
    cooldown: Annotated[int, typer.Option(help="Seconds between two captures, at least 60")] = 600,
    incident: Annotated[
        str | None, typer.Option(help="Number or id of an incident that the host is part of: evidence for it")
    ] = None,
    reason: Annotated[str, typer.Option(help="Why")] = "",
    as_json: AsJson = False,
) -> None:
    """Capture a host as soon as something begins: a unit starts, a threshold is crossed."""
    server = Server(find_target())
    body: Json = {
        "kind": "armed",
        "host_id": find_host(server, host)["id"],
        "conditions": [condition_of(one) for one in when],
        "plan": plan,
        "seconds": seconds,
        "hours": hours,
        "fires_max": times,
        "cooldown_s": cooldown,
        "reason": reason,
    }
    if incident is not None:
        body["incident_id"] = find_incident(server, incident)["id"]
    _made(server.post("/standbys", body, **{"Idempotency-Key": str(uuid4())}), as_json=as_json)


def armed(
    over: Annotated[bool, typer.Option("--over", help="Also those that wait no more")] = False,
    as_json: AsJson = False,
) -> None:
    """What is armed, on which hosts, until when, and what it costs these."""
    found = Server(find_target()).get("/standbys", kind="armed", over=over, limit=200)["items"]
    if as_json:
        print_json(found)
        return
    rows = [
        [
            f"#{one['number']}",
            one["host"]["name"],
            one["state"],
            " or ".join(said(each) for each in one["conditions"]),
            f"{one['fires']} of {one['fires_max']}",
            one["until"],
            _cost(one),
            _why(one),
        ]
        for one in found
    ]
    table(["number", "host", "state", "waits for", "fired", "until", "cost", "why"], rows)


def disarm(number: Annotated[str, typer.Argument(help="Its number, id, or the name of its host")]) -> None:
    """End an armed capture before its time; nothing stays on the host."""
    _end(Server(find_target()), "armed", number)


@ring.command("start")
def start(  # noqa: PLR0917
    host: Annotated[str, typer.Argument(help="Name or id of the host")],
    minutes: Annotated[float, typer.Option(help="How much is kept, 1 to 30")] = 10.0,
    hours: Annotated[float, typer.Option(help="For how long it is kept, at most 24")] = 8.0,
    stacks: Annotated[
        bool, typer.Option("--stacks", help="Also stacks of all CPUs, where that is allowed")
    ] = False,
    reason: Annotated[str, typer.Option(help="Why")] = "",
    as_json: AsJson = False,
) -> None:
    """Keep the last minutes of softirqs, pressure, memory, disks and network on a host."""
    server = Server(find_target())
    body: Json = {
        "kind": "ring",
        "host_id": find_host(server, host)["id"],
        "seconds": round(minutes * 60),
        "stacks": stacks,
        "hours": hours,
        "reason": reason,
    }
    _made(server.post("/standbys", body, **{"Idempotency-Key": str(uuid4())}), as_json=as_json)


@ring.command("stop")
def stop(host: Annotated[str, typer.Argument(help="Name of the host, number or id of the ring")]) -> None:
    """End a ring before its time; nothing stays on the host."""
    _end(Server(find_target()), "ring", host)


@ring.command("list")
def list_rings(
    over: Annotated[bool, typer.Option("--over", help="Also those that are over")] = False,
    as_json: AsJson = False,
) -> None:
    """Where the last minutes are kept, and what that costs."""
    found = Server(find_target()).get("/standbys", kind="ring", over=over, limit=200)["items"]
    if as_json:
        print_json(found)
        return
    rows = [
        [
            f"#{one['number']}",
            one["host"]["name"],
            one["state"],
            f"{one['kept_s'] or 0:.0f} of {one['ring_s']} s",
            one["until"],
            _cost(one),
            _why(one),
        ]
        for one in found
    ]
    table(["number", "host", "state", "kept", "until", "cost", "why"], rows)


def condition_of(given: str) -> Json:
    """`process:java` or `load1>20@3/5` as the server takes it. Raises Stop."""
    kind, colon, key = given.partition(":")
    if colon and kind in STARTS and not set("<>") & set(key):
        return {"kind": f"{kind}_start", "key": key}
    found = _THRESHOLD.fullmatch(given)
    if found is None:
        raise Stop(Exit.USAGE, f"'{given}' is neither a start as unit:NAME nor a threshold as load1>20@3/5.")
    return {
        "kind": found["kind"],
        "key": found["key"] or "",
        "op": "over" if found["op"] == ">" else "under",
        "limit": float(found["limit"]),
        "hits": int(found["hits"] or 1),
        "of": int(found["of"] or 1),
    }


def said(one: Json) -> str:
    """A condition as it is typed."""
    if one["starts"]:
        return f"{one['kind'].removesuffix('_start')}:{one['key']}"
    key = f":{one['key']}" if one["key"] else ""
    held = f"@{one['hits']}/{one['of']}" if one["of"] > 1 else ""
    return f"{one['kind']}{key}{'>' if one['op'] == 'over' else '<'}{one['limit']:g}{held}"


def _made(one: Json, *, as_json: bool) -> None:
    if as_json:
        print_json(one)
        return
    say_to(sys.stdout, f"#{one['number']} on {one['host']['name']} until {one['until']}")


def _cost(one: Json) -> str:
    cost = one["cost"]
    if cost is None:
        return "-"
    share = "-" if cost["cpu_pct"] is None else f"{cost['cpu_pct']:.2f} % of a core"
    return f"{share}, {cost['rss_kb'] / 1024:.1f} MB, ring {cost['ring_bytes'] / 1048576:.1f} MB"


def _why(one: Json) -> str:
    told = one["failure"] or one["waiting"] or (one["refused"] or {}).get("sentence")
    return (sentence(told) or "") if told else ""


def _end(server: Server, kind: str, wanted: str) -> None:
    for one in server.get("/standbys", kind=kind, limit=200)["items"]:
        if wanted.removeprefix("#") in {
            str(one["number"]),
            one["id"],
            one["host"]["name"],
            one["host"]["id"],
        }:
            ended = server.post(f"/standbys/{one['id']}/end", {})
            say_to(sys.stdout, f"#{ended['number']} on {ended['host']['name']}: ends.")
            return
    word = "ring" if kind == "ring" else "armed capture"
    raise Stop(Exit.REFUSED, f"There is no {word} '{wanted}'.")
