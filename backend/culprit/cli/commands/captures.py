"""culprit capture create, list, cancel; culprit run show"""

from __future__ import annotations

import sys
import time
from typing import Annotated, Any
from uuid import UUID, uuid4

import typer

from collectors.runner.scope import Scope
from culprit.cli import shapes
from culprit.cli.commands.hosts import find_host
from culprit.cli.connection import CliError, ExitCode, Server, find_target, render_message
from culprit.cli.terminal import AsJson, print_json, print_line, print_table

POLL_S = 0.5

app = typer.Typer(no_args_is_help=True)
run_app = typer.Typer(no_args_is_help=True)


def register_commands(root: typer.Typer) -> None:
    """Add the command groups `capture` and `run`."""
    root.add_typer(app, name="capture", help="Captures of hosts and imported files.")
    root.add_typer(run_app, name="run", help="Results of a capture on one host.")


@app.command("create")
def create_capture(  # noqa: PLR0917
    hosts: Annotated[list[str], typer.Argument(help="Names or IDs", metavar="HOST...")],
    plan: Annotated[str, typer.Option(help="triage, cpu, sched, io, network, baseline or custom")],
    seconds: Annotated[int | None, typer.Option(help="Instead of the plan's own duration")] = None,
    collector: Annotated[list[str] | None, typer.Option(help="For the plan custom. Can be repeated")] = None,
    scope: Annotated[
        str, typer.Option(help="host, process=PID, cgroup=/path, unit=NAME, container=NAME or port=PORT")
    ] = "host",
    option: Annotated[
        list[str] | None, typer.Option(help="COLLECTOR.NAME=VALUE. Can be repeated", metavar="OPTION")
    ] = None,
    service: Annotated[bool, typer.Option(help="Also measure the service of the hosts")] = True,
    reason: Annotated[str, typer.Option(help="Reason, stored with the capture")] = "",
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the capture has ended")] = False,
    timeout: Annotated[float | None, typer.Option(help="With --wait: seconds, then exit status 9")] = None,
    as_json: AsJson = False,
) -> None:
    """Run a plan on hosts. With --wait, the exit status states how the capture ended."""
    server = Server(find_target())
    body: dict[str, Any] = {
        "host_ids": [find_host(server, name)["id"] for name in hosts],
        "plan": plan,
        "reason": reason,
        "scope": _parse_scope(scope),
        "options": parse_options(option or []),
        "service": service,
    }
    if seconds is not None:
        body["seconds"] = seconds
    if collector:
        body["collectors"] = collector
    read = server.post("/captures", body, **{"Idempotency-Key": str(uuid4())})
    if wait:
        read = wait_for_capture(server, read, timeout)
    if as_json:
        print_json(shapes.shape_capture(read))
    else:
        _print_capture(read)
    if read["state"] in shapes.STATUS:
        raise typer.Exit(shapes.STATUS[read["state"]])


def _parse_scope(text: str) -> dict[str, str]:
    try:
        return Scope.from_text(text).to_json()
    except ValueError:
        raise CliError(ExitCode.USAGE, f"'{text}' is not a scope. Example: --scope cgroup=/app.") from None


def parse_options(texts: list[str]) -> dict[str, dict[str, str]]:
    """Return values by collector and name. Raises CliError for a text of another form."""
    results: dict[str, dict[str, str]] = {}
    for text in texts:
        where, equals, value = text.partition("=")
        collector, dot, name = where.partition(".")
        if not (collector and dot and name and equals):
            raise CliError(ExitCode.USAGE, f"'{text}' is not an option. Use COLLECTOR.NAME=VALUE.")
        results.setdefault(collector, {})[name] = value
    return results


def wait_for_capture(server: Server, read: dict[str, Any], timeout: float | None) -> dict[str, Any]:
    """Poll until the capture has ended and print each change on standard error.

    Raises CliError after `timeout`.
    """
    end = None if timeout is None else time.monotonic() + timeout
    states: dict[str, str] = {}
    while True:
        for run in read["runs"]:
            for collector in run["collectors"]:
                _print_change(states, run, collector)
        if read["state"] in shapes.ENDED:
            return read
        if end is not None and time.monotonic() > end:
            raise CliError(ExitCode.TIMED_OUT, f"Capture {read['id']} is still '{read['state']}'.")
        time.sleep(POLL_S)
        read = server.get(f"/captures/{read['id']}")


def _print_change(states: dict[str, str], run: dict[str, Any], item: dict[str, Any]) -> None:
    key = f"{run['id']}/{item['id']}"
    if states.get(key, "queued") == item["state"]:
        return
    states[key] = item["state"]
    name = run["host"]["name"] if run["host"] else "-"
    why = render_message(item["reason"])
    print_line(sys.stderr, f"{name} {item['id']} {item['state']}" + (f": {why}" if why else ""))


def _print_capture(read: dict[str, Any]) -> None:
    print_line(sys.stdout, f"Capture {read['number']} ({read['id']}) of plan {read['plan']}: {read['state']}")
    rows = []
    for run in read["runs"]:
        name = run["host"]["name"] if run["host"] else "-"
        for collector in run["collectors"]:
            rows.append(
                (
                    name,
                    run["id"],
                    collector["id"],
                    collector["state"],
                    collector["bytes"],
                    render_message(collector["reason"]),
                )
            )
        if run["failure"]:
            rows.append((name, run["id"], "", run["state"], "", render_message(run["failure"])))
    print_table(("HOST", "RUN", "COLLECTOR", "STATE", "BYTES", "REASON"), rows)


@app.command("list")
def list_captures(
    host: Annotated[str | None, typer.Option(help="Only captures of this host")] = None,
    state: Annotated[str | None, typer.Option(help="Only captures in this state")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="Maximum number of captures")] = 20,
    as_json: AsJson = False,
) -> None:
    """List captures, the newest first."""
    server = Server(find_target())
    host_id = find_host(server, host)["id"] if host else None
    items = server.get("/captures", host=host_id, state=state, limit=limit)["items"]
    if as_json:
        print_json([shapes.shape_capture(item) for item in items])
        return
    print_table(
        ("NUMBER", "CAPTURE", "PLAN", "STATE", "CREATED", "HOSTS"),
        (
            (
                item["number"], item["id"], item["plan"], item["state"], item["created_at"],
                " ".join(run["host"]["name"] if run["host"] else "-" for run in item["runs"]),
            )
            for item in items
        ),
    )  # fmt: skip


def find_run(server: Server, text: str) -> dict[str, Any]:
    """Return a run by its ID, or the only run of a capture. Raises CliError."""
    try:
        run_id = UUID(text)
    except ValueError:
        raise CliError(
            ExitCode.USAGE, f"'{text}' is not the ID of a run. List captures with './culprit capture list'."
        ) from None
    run = server.find(f"/runs/{run_id}")
    if run is not None:
        return dict(run)
    result = server.find(f"/captures/{run_id}")
    runs = result["runs"] if result else []
    if len(runs) != 1:
        raise CliError(ExitCode.REFUSED, f"Run {text} not found, and no capture with one run has this ID.")
    return dict(server.get(f"/runs/{runs[0]['id']}"))


def wait_until_built(server: Server, run: dict[str, Any], timeout: float) -> dict[str, Any]:
    """Return the run once its profiles are built, or as it is after `timeout` seconds."""
    end = time.monotonic() + timeout
    while time.monotonic() < end and (_is_being_read(run) or any(map(_is_being_built, run["profiles"]))):
        time.sleep(POLL_S)
        run = dict(server.get(f"/runs/{run['id']}"))
    return run


def _is_being_read(run: dict[str, Any]) -> bool:
    imported = run["capture"]["source"] == "import"
    return run["state"] == "ingesting" or (imported and run["state"] not in shapes.ENDED)


def _is_being_built(profile: dict[str, Any]) -> bool:
    return profile["state"] in {"queued", "running"}


@run_app.command("show")
def show_run(
    run: Annotated[str, typer.Argument(help="ID of a run")],
    timeout: Annotated[float, typer.Option(help="Seconds to wait for profiles that are being built")] = 60,
    as_json: AsJson = False,
) -> None:
    """Show the results of a run: series, profiles, scheduling, events. Waits for profiles that are being built."""
    server = Server(find_target())
    shape = shapes.shape_run(server, wait_until_built(server, find_run(server, run), timeout))
    if as_json:
        print_json(shape)
        return
    print_line(sys.stdout, f"Run {shape['run']} on {shape['host'] or '-'}")
    print_table(
        ("SERIES", "LABELS", "UNIT", "N", "MIN", "MEAN", "MAX"),
        (
            (
                series["id"], " ".join(f"{k}={v}" for k, v in series["labels"].items()), series["unit"],
                series["sample_count"],
                *(_format_figure(series[name]) for name in ("min", "mean", "max")),
            )
            for series in shape["series"]
        ),
    )  # fmt: skip
    for profile in shape["profiles"]:
        if profile["state"] != "ready":
            why = f": {profile['failure']}" if profile["failure"] else ""
            print_line(sys.stdout, f"Profile {profile['kind']}: {profile['state']}{why}")
            continue
        print_line(
            sys.stdout, f"Profile {profile['kind']}: {profile['samples']} samples, {profile['lost']} lost"
        )
        print_table(
            ("SELF", "TOTAL", "FRAME"),
            ((item["self"], item["total"], item["frame"]) for item in profile["top"]),
        )
    if shape["sched"]:
        print_table(
            ("TASK", "PID", "TID", "RUN MS", "SWITCHES", "AVG MS", "P99 MS", "MAX MS"),
            (item.values() for item in shape["sched"]),
        )
    for event in shape["events"]:
        print_line(sys.stdout, f"{event['severity']}: {event['title']}")


def _format_figure(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


@app.command("cancel")
def cancel_capture(
    capture: Annotated[str, typer.Argument(help="ID of a capture")], as_json: AsJson = False
) -> None:
    """Cancel a capture. Output received before that is kept."""
    read = Server(find_target()).post(f"/captures/{capture}/cancel", {})
    if as_json:
        print_json(shapes.shape_capture(read))
    else:
        _print_capture(read)
