"""culprit schedule list, show, create, preview, pause, resume, delete;

maintenance create, list, end; oncall list, override
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID, uuid4

import typer

from culprit.cli.commands.hosts import find_host
from culprit.cli.connection import CliError, ExitCode, Server, find_target, render_message
from culprit.cli.terminal import AsJson, print_json, print_line, print_table
from culprit.json_types import Json

app = typer.Typer(no_args_is_help=True)
oncall = typer.Typer(no_args_is_help=True)
maintenance = typer.Typer(no_args_is_help=True)
Which = Annotated[str, typer.Argument(help="Name or ID of the schedule")]
CronText = Annotated[str | None, typer.Option("--cron", help="Five fields, for example '30 3 * * 1-5'")]
At = Annotated[str | None, typer.Option(help="Once, at this local time: 2026-11-23T02:30")]
Zone = Annotated[str, typer.Option(help="IANA time zone, for example Europe/Berlin")]
Hosts = Annotated[list[str] | None, typer.Option("--host", help="Name or ID of a host. Can be repeated")]
Labels = Annotated[list[str] | None, typer.Option("--label", help="NAME=VALUE. Can be repeated")]


def register_commands(root: typer.Typer) -> None:
    """Add the command groups `schedule`, `maintenance` and `oncall`."""
    root.add_typer(app, name="schedule", help="Captures at set times.")
    root.add_typer(maintenance, name="maintenance", help="Times without scheduled captures.")
    root.add_typer(oncall, name="oncall", help="Who is on call now and next.")


@app.command("list")
def list_schedules(as_json: AsJson = False) -> None:
    """List schedules with their next due time and their results."""
    result = _list_schedules(Server(find_target()))
    if as_json:
        print_json(result)
        return
    rows = [
        [
            item["name"], item["state"], _format_cadence(item["cadence"]), item["cadence"]["zone"],
            item["capture"]["plan"], item["matching"], item["next_due"] or "-",
            *(item["counts"].get(name, 0) for name in ("started", "missed", "skipped", "refused")),
        ]
        for item in result
    ]  # fmt: skip
    print_table(
        ["NAME", "STATE", "WHEN", "ZONE", "PLAN", "HOSTS", "NEXT", "STARTED", "MISSED", "SKIPPED", "REFUSED"],
        rows,
    )


@app.command("show")
def show_schedule(schedule: Which, as_json: AsJson = False) -> None:
    """Show one schedule with its next due times and the results of the last ones."""
    item = _find_schedule(Server(find_target()), schedule)
    _print_schedule(item, as_json=as_json)


@app.command("create")
def create_schedule(  # noqa: PLR0917
    name: Annotated[str, typer.Argument(help="Name of the schedule")],
    plan: Annotated[
        str, typer.Option(help="baseline, triage, cpu, io, network, sched or custom")
    ] = "baseline",
    cron: CronText = None,
    at: At = None,
    zone: Zone = "UTC",
    host: Hosts = None,
    label: Labels = None,
    seconds: Annotated[int | None, typer.Option(help="Instead of the plan's own duration")] = None,
    collector: Annotated[list[str] | None, typer.Option(help="For the plan custom. Can be repeated")] = None,
    reason: Annotated[str, typer.Option(help="Reason, stored with each capture")] = "",
    catch_up: Annotated[bool, typer.Option("--catch-up", help="Run missed captures once")] = False,
    as_json: AsJson = False,
) -> None:
    """Create a schedule that you own."""
    server = Server(find_target())
    requested: Json = {"plan": plan}
    if seconds is not None:
        requested["seconds"] = seconds
    if collector:
        requested["collectors"] = collector
    body: Json = {
        "name": name,
        "cadence": _build_cadence(cron, at, zone),
        "capture": requested,
        "target": _build_target(server, host, label),
        "reason": reason,
        "catch_up": "one" if catch_up else "none",
    }
    _print_schedule(server.post("/schedules", body, **{"Idempotency-Key": str(uuid4())}), as_json=as_json)


@app.command("preview")
def preview_due_times(
    cron: CronText = None,
    at: At = None,
    zone: Zone = "UTC",
    count: Annotated[int, typer.Option(min=1, max=50, help="Number of due times")] = 10,
    as_json: AsJson = False,
) -> None:
    """Show when a schedule would be due. Nothing is stored."""
    body = {"cadence": _build_cadence(cron, at, zone), "count": count}
    result = Server(find_target()).post("/schedules/preview", body)
    if as_json:
        print_json(result)
    else:
        _print_upcoming(result["upcoming"])


@app.command("pause")
def pause_schedule(schedule: Which, as_json: AsJson = False) -> None:
    """Pause a schedule until it is resumed."""
    _change_schedule(schedule, as_json=as_json, paused=True)


@app.command("resume")
def resume_schedule(schedule: Which, as_json: AsJson = False) -> None:
    """Resume a schedule. Due times during the pause are skipped."""
    _change_schedule(schedule, as_json=as_json, paused=False)


@app.command("remove")
def delete_schedule(schedule: Which) -> None:
    """Delete a schedule. Its captures are kept."""
    server = Server(find_target())
    server.delete(f"/schedules/{_find_schedule(server, schedule)['id']}")


@maintenance.command("create")
def create_window(  # noqa: PLR0917
    reason: Annotated[str, typer.Argument(help="Why")],
    minutes: Annotated[int, typer.Option(min=1, max=129_600, help="Duration of each window in minutes")] = 60,
    cron: Annotated[
        str | None,
        typer.Option("--cron", help="Recurring: '0 2 * * sun'. Default: one window that starts now"),
    ] = None,
    zone: Zone = "UTC",
    until: Annotated[datetime | None, typer.Option(help="With --cron: end of the recurrence, in UTC")] = None,
    host: Annotated[str | None, typer.Option(help="Only on this host")] = None,
    label: Labels = None,
    as_json: AsJson = False,
) -> None:
    """Create a maintenance window. Scheduled captures do not start during it; manual captures do."""
    if until is not None and cron is None:
        raise CliError(
            ExitCode.USAGE, "Use --until only with --cron. Without --cron, --minutes sets the end."
        )
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
        body["labels"] = _parse_labels(label)
    result = server.post("/maintenance-windows", body, **{"Idempotency-Key": str(uuid4())})
    if as_json:
        print_json(result)
    else:
        _print_windows([result])


@maintenance.command("list")
def list_windows(as_json: AsJson = False) -> None:
    """List current and future maintenance windows."""
    items = Server(find_target()).get("/maintenance-windows", limit=200)["items"]
    if as_json:
        print_json(items)
    else:
        _print_windows(items)


@maintenance.command("end")
def end_window(window: Annotated[str, typer.Argument(help="ID of the maintenance window")]) -> None:
    """End a maintenance window now."""
    Server(find_target()).delete(f"/maintenance-windows/{_parse_id(window)}")


@oncall.command("list")
def list_oncall(as_json: AsJson = False) -> None:
    """List who is on call now, and who is next."""
    result = Server(find_target()).get("/oncall")
    if as_json:
        print_json(result)
        return
    rows = []
    for item in result:
        now = ", ".join(turn["who"] for turn in item["now"]) or "-"
        until = min((turn["end"] for turn in item["now"] if turn["end"]), default="-")
        following = item["next"]
        later = f"{following['who']} from {following['start']}" if following else "-"
        rows.append([item["rotation"]["name"], now, until, later, render_message(item["failure"])])
    print_table(["ROTATION", "NOW", "UNTIL", "NEXT", ""], rows)


@oncall.command("override")
def create_override(
    rotation: Annotated[str, typer.Argument(help="Name of the rotation")],
    person: Annotated[str | None, typer.Option("--for", help="Account. Default: you")] = None,
    hours: Annotated[float, typer.Option(min=0.1, max=2160, help="Hours, from now on")] = 12,
    reason: Annotated[str, typer.Option(help="Why")] = "",
) -> None:
    """Create an override: take over from the person who is on call."""
    server = Server(find_target())
    name = person or server.get("/me")["name"]
    user = next((item["id"] for item in server.get("/oncall/candidates") if item["name"] == name), None)
    requested = next((item for item in server.get("/rotations") if item["name"] == rotation), None)
    if user is None or requested is None:
        raise CliError(ExitCode.REFUSED, f"No {'account' if user is None else 'rotation'} has this name.")
    begin = datetime.now(UTC)
    body = {
        "user_id": user,
        "starts_at": begin.isoformat(),
        "ends_at": (begin + timedelta(hours=hours)).isoformat(),
        "reason": reason,
    }
    result = server.post(f"/rotations/{requested['id']}/overrides", body, **{"Idempotency-Key": str(uuid4())})
    now = ", ".join(turn["who"] for turn in result["now"])
    print_line(sys.stdout, f"On call in {result['name']}: {now}")


def _build_cadence(cron: str | None, at: str | None, zone: str) -> Json:
    if (cron is None) == (at is None):
        raise CliError(ExitCode.USAGE, "Use either --cron or --at.")
    if cron is not None:
        return {"kind": "cron", "cron": cron, "zone": zone}
    return {"kind": "once", "local_time": at, "zone": zone}


def _build_target(server: Server, hosts: list[str] | None, labels: list[str] | None) -> Json:
    if bool(hosts) == bool(labels):
        raise CliError(ExitCode.USAGE, "Use either --host or --label.")
    if hosts:
        return {"host_ids": [find_host(server, name)["id"] for name in hosts]}
    return {"labels": _parse_labels(labels or [])}


def _parse_labels(supplied: list[str]) -> dict[str, str]:
    pairs = [item.partition("=") for item in supplied]
    if any(not name or not equals for name, equals, _ in pairs):
        raise CliError(ExitCode.USAGE, "A label has the form NAME=VALUE.")
    return {name: value for name, _, value in pairs}


def _list_schedules(server: Server) -> list[Json]:
    results: list[Json] = []
    cursor = None
    while True:
        page = server.get("/schedules", limit=200, cursor=cursor)
        results += page["items"]
        cursor = page["next"]
        if cursor is None:
            return results


def _find_schedule(server: Server, requested: str) -> Json:
    """Return a schedule by name or ID. Raises CliError."""
    for item in _list_schedules(server):
        if requested in {item["name"], item["id"]}:
            return item
    raise CliError(
        ExitCode.REFUSED, f"No schedule '{requested}'. List schedules with './culprit schedule list'."
    )


def _parse_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise CliError(ExitCode.USAGE, f"'{text}' is not an ID.") from None


def _change_schedule(schedule: str, *, as_json: bool, **change: Any) -> None:
    server = Server(find_target())
    item = _find_schedule(server, schedule)
    _print_schedule(
        server.patch(f"/schedules/{item['id']}", {"version": item["version"], **change}), as_json=as_json
    )


def _format_cadence(cadence: Json) -> str:
    return str(cadence["cron"] if cadence["kind"] == "cron" else cadence["local_time"])


def _print_schedule(item: Json, *, as_json: bool) -> None:
    if as_json:
        print_json(item)
        return
    print_line(
        sys.stdout,
        f"{item['name']}: {item['state']}, {_format_cadence(item['cadence'])} {item['cadence']['zone']},"
        f" plan {item['capture']['plan']} ({item['tier']}) on {item['matching']} hosts, of {item['owner']['name']}",
    )
    if item["refusal"]:
        print_line(sys.stdout, f"It would start nothing: {render_message(item['refusal'])}")
    _print_upcoming(item["upcoming"])
    rows = [
        [
            firing["due_at"], firing["state"], firing["count"],
            f"#{firing['capture']['number']} {firing['capture']['state']}" if firing["capture"] else "",
            render_message(firing["reason"]),
        ]
        for firing in item["recent"]
    ]  # fmt: skip
    if rows:
        print_table(["WAS DUE", "BECAME", "COUNT", "CAPTURE", "REASON"], rows)


def _print_upcoming(upcoming: list[Json]) -> None:
    notes = {"plain": "", "gap": "this time is skipped that day", "overlap": "the first of two"}
    rows = [
        [
            item["local_time"], item["at"],
            f"in maintenance: {item['window']['reason']}" if item["window"] else notes[item["kind"]],
        ]
        for item in upcoming
    ]  # fmt: skip
    print_table(["DUE (ZONE)", "DUE (UTC)", ""], rows)


def _print_windows(result: list[Json]) -> None:
    rows = []
    for item in result:
        labels = " ".join(f"{name}={value}" for name, value in (item["labels"] or {}).items())
        where = item["host"]["name"] if item["host"] else labels or "everywhere"
        recurs, first = item["recurs"], next(iter(item["times"]), None)
        again = f"{recurs['cron']} {recurs['zone']}, {recurs['minutes']} min" if recurs else ""
        rows.append(
            [
                item["id"],
                item["state"].replace("_", " "),
                first["starts_at"] if first else item["starts_at"],
                first["ends_at"] if first else item["ends_at"],
                again,
                where,
                item["reason"],
            ]
        )
    print_table(["ID", "STATE", "FROM", "UNTIL", "AGAIN", "WHERE", "REASON"], rows)
