"""culprit capture, captures, show, cancel"""

from __future__ import annotations

import sys
import time
from typing import Annotated, Any
from uuid import UUID, uuid4

import typer

from collectors.scope import Scope
from culprit.cli import shapes
from culprit.cli.connection import Exit, Server, Stop, find_target, sentence
from culprit.cli.hosts import find_host
from culprit.cli.terminal import AsJson, print_json, say_to, table

POLL_S = 0.5


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command()(capture)
    app.command()(captures)
    app.command()(show)
    app.command()(cancel)


def capture(  # noqa: PLR0917
    hosts: Annotated[list[str], typer.Argument(help="Names or ids", metavar="HOST...")],
    plan: Annotated[str, typer.Option(help="triage, cpu, sched, io, network, baseline or custom")],
    seconds: Annotated[int | None, typer.Option(help="Instead of the plan's own duration")] = None,
    collector: Annotated[list[str] | None, typer.Option(help="For the plan custom; may be repeated")] = None,
    scope: Annotated[
        str, typer.Option(help="host, process=PID, cgroup=/path, unit=NAME, container=NAME or port=PORT")
    ] = "host",
    option: Annotated[
        list[str] | None, typer.Option(help="COLLECTOR.NAME=VALUE; may be repeated", metavar="OPTION")
    ] = None,
    service: Annotated[bool, typer.Option(help="Measure the declared service of the hosts too")] = True,
    reason: Annotated[str, typer.Option(help="Why; kept with the capture")] = "",
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it has ended")] = False,
    timeout: Annotated[float | None, typer.Option(help="With --wait: seconds, then exit status 9")] = None,
    as_json: AsJson = False,
) -> None:
    """Run a plan on hosts. With --wait the exit status says how it ended."""
    server = Server(find_target())
    body: dict[str, Any] = {
        "host_ids": [find_host(server, name)["id"] for name in hosts],
        "plan": plan,
        "reason": reason,
        "scope": _scope(scope),
        "options": options_of(option or []),
        "service": service,
    }
    if seconds is not None:
        body["seconds"] = seconds
    if collector:
        body["collectors"] = collector
    read = server.post("/captures", body, **{"Idempotency-Key": str(uuid4())})
    if wait:
        read = follow(server, read, timeout)
    if as_json:
        print_json(shapes.capture(read))
    else:
        _tell(read)
    if read["state"] in shapes.STATUS:
        raise typer.Exit(shapes.STATUS[read["state"]])


def _scope(text: str) -> dict[str, str]:
    try:
        return Scope.from_text(text).to_json()
    except ValueError:
        raise Stop(Exit.USAGE, f"'{text}' is no scope; say for example --scope cgroup=/app.") from None


def options_of(given: list[str]) -> dict[str, dict[str, str]]:
    """Values by collector and name. Raises Stop for what is none."""
    found: dict[str, dict[str, str]] = {}
    for text in given:
        where, equals, value = text.partition("=")
        collector, dot, name = where.partition(".")
        if not (collector and dot and name and equals):
            raise Stop(Exit.USAGE, f"'{text}' is no option; say COLLECTOR.NAME=VALUE.")
        found.setdefault(collector, {})[name] = value
    return found


def follow(server: Server, read: dict[str, Any], timeout: float | None) -> dict[str, Any]:
    """Poll until it has ended; each change is told on standard error. Raises Stop after `timeout`."""
    end = None if timeout is None else time.monotonic() + timeout
    told: dict[str, str] = {}
    while True:
        for run in read["runs"]:
            for one in run["collectors"]:
                _told_once(told, run, one)
        if read["state"] in shapes.ENDED:
            return read
        if end is not None and time.monotonic() > end:
            raise Stop(Exit.TIMED_OUT, f"Capture {read['id']} is still '{read['state']}'.")
        time.sleep(POLL_S)
        read = server.get(f"/captures/{read['id']}")


def _told_once(told: dict[str, str], run: dict[str, Any], one: dict[str, Any]) -> None:
    key = f"{run['id']}/{one['id']}"
    if told.get(key, "queued") == one["state"]:
        return
    told[key] = one["state"]
    name = run["host"]["name"] if run["host"] else "-"
    why = sentence(one["reason"])
    say_to(sys.stderr, f"{name} {one['id']} {one['state']}" + (f": {why}" if why else ""))


def _tell(read: dict[str, Any]) -> None:
    say_to(sys.stdout, f"Capture {read['number']} ({read['id']}) of plan {read['plan']}: {read['state']}")
    rows = []
    for run in read["runs"]:
        name = run["host"]["name"] if run["host"] else "-"
        for one in run["collectors"]:
            rows.append((name, run["id"], one["id"], one["state"], one["bytes"], sentence(one["reason"])))
        if run["failure"]:
            rows.append((name, run["id"], "", run["state"], "", sentence(run["failure"])))
    table(("HOST", "RUN", "COLLECTOR", "STATE", "BYTES", "REASON"), rows)


def captures(
    host: Annotated[str | None, typer.Option(help="Only those on this host")] = None,
    state: Annotated[str | None, typer.Option(help="Only those in this state")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many at most")] = 20,
    as_json: AsJson = False,
) -> None:
    """Captures, newest first."""
    server = Server(find_target())
    host_id = find_host(server, host)["id"] if host else None
    found = server.get("/captures", host=host_id, state=state, limit=limit)["items"]
    if as_json:
        print_json([shapes.capture(one) for one in found])
        return
    table(
        ("NUMBER", "CAPTURE", "PLAN", "STATE", "CREATED", "HOSTS"),
        (
            (
                one["number"], one["id"], one["plan"], one["state"], one["created_at"],
                " ".join(run["host"]["name"] if run["host"] else "-" for run in one["runs"]),
            )
            for one in found
        ),
    )  # fmt: skip


def find_run(server: Server, wanted: str) -> dict[str, Any]:
    """A run by its id, or the one run of a capture. Raises Stop."""
    try:
        run_id = UUID(wanted)
    except ValueError:
        raise Stop(Exit.USAGE, f"'{wanted}' is no id of a run; see './culprit captures'.") from None
    run = server.find(f"/runs/{run_id}")
    if run is not None:
        return dict(run)
    found = server.find(f"/captures/{run_id}")
    runs = found["runs"] if found else []
    if len(runs) != 1:
        raise Stop(Exit.REFUSED, f"There is no run {wanted}, and no capture with one run.")
    return dict(server.get(f"/runs/{runs[0]['id']}"))


def built(server: Server, run: dict[str, Any], timeout: float) -> dict[str, Any]:
    """The run once nothing of it is still being read or drawn, or as it is after `timeout` seconds."""
    end = time.monotonic() + timeout
    while time.monotonic() < end and (_being_read(run) or any(map(_in_work, run["profiles"]))):
        time.sleep(POLL_S)
        run = dict(server.get(f"/runs/{run['id']}"))
    return run


def _being_read(run: dict[str, Any]) -> bool:
    brought = run["capture"]["source"] == "import"
    return run["state"] == "ingesting" or (brought and run["state"] not in shapes.ENDED)


def _in_work(profile: dict[str, Any]) -> bool:
    return profile["state"] in {"queued", "running"}


def show(
    run: Annotated[str, typer.Argument(help="Id of a run")],
    timeout: Annotated[float, typer.Option(help="Seconds to wait for profiles that are being built")] = 60,
    as_json: AsJson = False,
) -> None:
    """What a run found: series, profiles, scheduling, events. Waits for what workers still build of it."""
    server = Server(find_target())
    shape = shapes.show(server, built(server, find_run(server, run), timeout))
    if as_json:
        print_json(shape)
        return
    say_to(sys.stdout, f"Run {shape['run']} on {shape['host'] or '-'}")
    table(
        ("SERIES", "LABELS", "UNIT", "N", "MIN", "MEAN", "MAX"),
        (
            (
                one["id"], " ".join(f"{k}={v}" for k, v in one["labels"].items()), one["unit"], one["n"],
                *(_figure(one[name]) for name in ("min", "mean", "max")),
            )
            for one in shape["series"]
        ),
    )  # fmt: skip
    for profile in shape["profiles"]:
        if profile["state"] != "ready":
            why = f": {profile['failure']}" if profile["failure"] else ""
            say_to(sys.stdout, f"Profile {profile['kind']}: {profile['state']}{why}")
            continue
        say_to(sys.stdout, f"Profile {profile['kind']}: {profile['samples']} samples, {profile['lost']} lost")
        table(
            ("SELF", "TOTAL", "FRAME"), ((one["self"], one["total"], one["frame"]) for one in profile["top"])
        )
    if shape["sched"]:
        table(
            ("TASK", "PID", "TID", "RUN MS", "SWITCHES", "AVG MS", "P99 MS", "MAX MS"),
            (one.values() for one in shape["sched"]),
        )
    for event in shape["events"]:
        say_to(sys.stdout, f"{event['severity']}: {event['title']}")


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def cancel(capture: Annotated[str, typer.Argument(help="Id of a capture")], as_json: AsJson = False) -> None:
    """Ask for a capture to end; what is home by then stays."""
    read = Server(find_target()).post(f"/captures/{capture}/cancel", {})
    if as_json:
        print_json(shapes.capture(read))
    else:
        _tell(read)
