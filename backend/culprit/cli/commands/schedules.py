"""culprit schedule list|show|new|preview|pause|resume|remove|hold|holds|release, culprit oncall list|take"""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID, uuid4

import typer

from culprit.cli.connection import Exit, Server, Stop, find_target, sentence
from culprit.cli.hosts import find_host
from culprit.cli.terminal import AsJson, print_json, say_to, table

app = typer.Typer(no_args_is_help=True)
oncall = typer.Typer(no_args_is_help=True)
Json = dict[str, Any]
Which = Annotated[str, typer.Argument(help="Name or id of the schedule")]
CronText = Annotated[str | None, typer.Option("--cron", help="Five fields, as in '30 3 * * 1-5'")]
At = Annotated[str | None, typer.Option(help="Once, at this time of the zone: 2026-11-23T02:30")]
Zone = Annotated[str, typer.Option(help="IANA time zone, as in Europe/Berlin")]
Hosts = Annotated[list[str] | None, typer.Option("--host", help="A host by name or id; may be repeated")]
Labels = Annotated[list[str] | None, typer.Option("--label", help="NAME=VALUE; may be repeated")]


@app.command("list")
def list_schedules(as_json: AsJson = False) -> None:
    """Schedules, when they are due next, and how often they fired or did not."""
    found = _all(Server(find_target()))
    if as_json:
        print_json(found)
        return
    rows = [
        [
            one["name"], one["state"], _when(one["cadence"]), one["cadence"]["zone"], one["wanted"]["plan"],
            one["matching"], one["next_due"] or "-",
            *(one["counts"].get(name, 0) for name in ("fired", "missed", "skipped", "refused")),
        ]
        for one in found
    ]  # fmt: skip
    table(
        ["NAME", "STATE", "WHEN", "ZONE", "PLAN", "HOSTS", "NEXT", "FIRED", "MISSED", "SKIPPED", "REFUSED"],
        rows,
    )


@app.command()
def show(schedule: Which, as_json: AsJson = False) -> None:
    """One schedule: its next due times and what became of the last ones."""
    one = _find(Server(find_target()), schedule)
    _tell(one, as_json=as_json)


@app.command()
def new(  # noqa: PLR0917
    name: Annotated[str, typer.Argument(help="What it is called")],
    plan: Annotated[
        str, typer.Option(help="baseline, triage, cpu, io, network, sched or custom")
    ] = "baseline",
    cron: CronText = None,
    at: At = None,
    zone: Zone = "UTC",
    host: Hosts = None,
    label: Labels = None,
    seconds: Annotated[int | None, typer.Option(help="Instead of the plan's own duration")] = None,
    collector: Annotated[list[str] | None, typer.Option(help="For the plan custom; may be repeated")] = None,
    reason: Annotated[str, typer.Option(help="Why; kept with each capture")] = "",
    catch_up: Annotated[bool, typer.Option("--catch-up", help="One capture for all that was missed")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a schedule of your own."""
    server = Server(find_target())
    wanted: Json = {"plan": plan}
    if seconds is not None:
        wanted["seconds"] = seconds
    if collector:
        wanted["collectors"] = collector
    body: Json = {
        "name": name,
        "cadence": _cadence(cron, at, zone),
        "wanted": wanted,
        "target": _target(server, host, label),
        "reason": reason,
        "catch_up": "one" if catch_up else "none",
    }
    _tell(server.post("/schedules", body, **{"Idempotency-Key": str(uuid4())}), as_json=as_json)


@app.command()
def preview(
    cron: CronText = None,
    at: At = None,
    zone: Zone = "UTC",
    count: Annotated[int, typer.Option(min=1, max=50, help="How many")] = 10,
    as_json: AsJson = False,
) -> None:
    """When would it be due? Nothing is stored."""
    body = {"cadence": _cadence(cron, at, zone), "count": count}
    found = Server(find_target()).post("/schedules/preview", body)
    if as_json:
        print_json(found)
    else:
        _tell_upcoming(found["upcoming"])


@app.command()
def pause(schedule: Which, as_json: AsJson = False) -> None:
    """Nothing starts until it is resumed."""
    _change(schedule, as_json=as_json, paused=True)


@app.command()
def resume(schedule: Which, as_json: AsJson = False) -> None:
    """Due again from now on; what was due while it was paused is not made up for."""
    _change(schedule, as_json=as_json, paused=False)


@app.command()
def remove(schedule: Which) -> None:
    """Forget it; what it captured stays."""
    server = Server(find_target())
    server.delete(f"/schedules/{_find(server, schedule)['id']}")


@app.command()
def hold(  # noqa: PLR0917
    reason: Annotated[str, typer.Argument(help="Why")],
    minutes: Annotated[int, typer.Option(min=1, max=129_600, help="How long, each time")] = 60,
    cron: Annotated[
        str | None, typer.Option("--cron", help="Again and again: '0 2 * * sun'; from now on when left out")
    ] = None,
    zone: Zone = "UTC",
    until: Annotated[
        datetime | None, typer.Option(help="With --cron: when it stops coming again, on the clock of UTC")
    ] = None,
    host: Annotated[str | None, typer.Option(help="Only on this host")] = None,
    label: Labels = None,
    as_json: AsJson = False,
) -> None:
    """Maintenance: no scheduled capture starts for a while, everywhere or only there."""
    if until is not None and cron is None:
        raise Stop(Exit.USAGE, "Say --until together with --cron; without it, --minutes says how long.")
    server = Server(find_target())
    begin = datetime.now(UTC)
    body: Json = {"starts_at": begin.isoformat(), "reason": reason}
    if cron is None:
        body["ends_at"] = (begin + timedelta(minutes=minutes)).isoformat()
    else:
        body["recurs"] = {"cron": cron, "zone": zone, "minutes": minutes}
        body["ends_at"] = until.replace(tzinfo=UTC).isoformat() if until else None
    if host:
        body["host_id"] = find_host(server, host)["id"]
    if label:
        body["labels"] = _labels(label)
    made = server.post("/maintenance", body, **{"Idempotency-Key": str(uuid4())})
    if as_json:
        print_json(made)
    else:
        _tell_windows([made])


@app.command()
def holds(as_json: AsJson = False) -> None:
    """Maintenance that is on or to come."""
    found = Server(find_target()).get("/maintenance", limit=200)["items"]
    if as_json:
        print_json(found)
    else:
        _tell_windows(found)


@app.command()
def release(window: Annotated[str, typer.Argument(help="Id of the maintenance window")]) -> None:
    """End maintenance now."""
    Server(find_target()).delete(f"/maintenance/{_id(window)}")


@oncall.command("list")
def list_oncall(as_json: AsJson = False) -> None:
    """Who is on call now, and who is next."""
    found = Server(find_target()).get("/oncall")
    if as_json:
        print_json(found)
        return
    rows = []
    for one in found:
        now = ", ".join(turn["who"] for turn in one["now"]) or "nobody"
        until = min((turn["end"] for turn in one["now"] if turn["end"]), default="-")
        following = one["next"]
        later = f"{following['who']} from {following['start']}" if following else "-"
        rows.append([one["rotation"]["name"], now, until, later, sentence(one["failure"])])
    table(["ROTATION", "NOW", "UNTIL", "NEXT", ""], rows)


@oncall.command()
def take(
    rotation: Annotated[str, typer.Argument(help="Name of the rotation")],
    person: Annotated[str | None, typer.Option("--for", help="Account; yourself when left out")] = None,
    hours: Annotated[float, typer.Option(min=0.1, max=2160, help="How long, from now on")] = 12,
    reason: Annotated[str, typer.Option(help="Why")] = "",
) -> None:
    """Take over from whoever is on call."""
    server = Server(find_target())
    name = person or server.get("/me")["name"]
    user = next((one["id"] for one in server.get("/oncall/people") if one["name"] == name), None)
    wanted = next((one for one in server.get("/rotations") if one["name"] == rotation), None)
    if user is None or wanted is None:
        raise Stop(Exit.REFUSED, f"There is no {'account' if user is None else 'rotation'} of that name.")
    begin = datetime.now(UTC)
    body = {
        "user_id": user,
        "starts_at": begin.isoformat(),
        "ends_at": (begin + timedelta(hours=hours)).isoformat(),
        "reason": reason,
    }
    made = server.post(f"/rotations/{wanted['id']}/overrides", body, **{"Idempotency-Key": str(uuid4())})
    now = ", ".join(turn["who"] for turn in made["now"])
    say_to(sys.stdout, f"On call in {made['name']}: {now}")


def _cadence(cron: str | None, at: str | None, zone: str) -> Json:
    if (cron is None) == (at is None):
        raise Stop(Exit.USAGE, "Say either --cron or --at.")
    if cron is not None:
        return {"kind": "cron", "cron": cron, "zone": zone}
    return {"kind": "once", "wall": at, "zone": zone}


def _target(server: Server, hosts: list[str] | None, labels: list[str] | None) -> Json:
    if bool(hosts) == bool(labels):
        raise Stop(Exit.USAGE, "Say either --host or --label.")
    if hosts:
        return {"host_ids": [find_host(server, name)["id"] for name in hosts]}
    return {"labels": _labels(labels or [])}


def _labels(given: list[str]) -> dict[str, str]:
    pairs = [one.partition("=") for one in given]
    if any(not name or not equals for name, equals, _ in pairs):
        raise Stop(Exit.USAGE, "A label is NAME=VALUE.")
    return {name: value for name, _, value in pairs}


def _all(server: Server) -> list[Json]:
    found: list[Json] = []
    cursor = None
    while True:
        page = server.get("/schedules", limit=200, cursor=cursor)
        found += page["items"]
        cursor = page["next"]
        if cursor is None:
            return found


def _find(server: Server, wanted: str) -> Json:
    """A schedule by name or id. Raises Stop."""
    for one in _all(server):
        if wanted in {one["name"], one["id"]}:
            return one
    raise Stop(Exit.REFUSED, f"There is no schedule '{wanted}'; see './culprit schedule list'.")


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Stop(Exit.USAGE, f"'{text}' is no id.") from None


def _change(schedule: str, *, as_json: bool, **change: Any) -> None:
    server = Server(find_target())
    one = _find(server, schedule)
    _tell(server.patch(f"/schedules/{one['id']}", {"version": one["version"], **change}), as_json=as_json)


def _when(cadence: Json) -> str:
    return str(cadence["cron"] if cadence["kind"] == "cron" else cadence["wall"])


def _tell(one: Json, *, as_json: bool) -> None:
    if as_json:
        print_json(one)
        return
    say_to(
        sys.stdout,
        f"{one['name']}: {one['state']}, {_when(one['cadence'])} {one['cadence']['zone']},"
        f" plan {one['wanted']['plan']} ({one['tier']}) on {one['matching']} hosts, of {one['owner']['name']}",
    )
    if one["refusal"]:
        say_to(sys.stdout, f"It would start nothing: {sentence(one['refusal'])}")
    _tell_upcoming(one["upcoming"])
    rows = [
        [
            fired["due_at"], fired["state"], fired["count"],
            f"#{fired['capture']['number']} {fired['capture']['state']}" if fired["capture"] else "",
            sentence(fired["reason"]),
        ]
        for fired in one["recent"]
    ]  # fmt: skip
    if rows:
        table(["WAS DUE", "BECAME", "COUNT", "CAPTURE", "REASON"], rows)


def _tell_upcoming(upcoming: list[Json]) -> None:
    notes = {"plain": "", "gap": "this time is skipped that day", "overlap": "the first of two"}
    rows = [
        [
            one["wall"], one["at"],
            f"in maintenance: {one['window']['reason']}" if one["window"] else notes[one["kind"]],
        ]
        for one in upcoming
    ]  # fmt: skip
    table(["DUE (ZONE)", "DUE (UTC)", ""], rows)


def _tell_windows(found: list[Json]) -> None:
    rows = []
    for one in found:
        labels = " ".join(f"{name}={value}" for name, value in (one["labels"] or {}).items())
        where = one["host"]["name"] if one["host"] else labels or "everywhere"
        recurs, first = one["recurs"], next(iter(one["times"]), None)
        again = f"{recurs['cron']} {recurs['zone']}, {recurs['minutes']} min" if recurs else ""
        rows.append(
            [
                one["id"],
                one["state"].replace("_", " "),
                first["starts_at"] if first else one["starts_at"],
                first["ends_at"] if first else one["ends_at"],
                again,
                where,
                one["reason"],
            ]
        )
    table(["ID", "STATE", "FROM", "UNTIL", "AGAIN", "WHERE", "REASON"], rows)
