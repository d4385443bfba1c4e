"""culprit event report, list, update, withdraw"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from culprit.cli.commands.hosts import find_host
from culprit.cli.connection import CliError, ExitCode, Server, find_target
from culprit.cli.terminal import AsJson, print_json, print_line, print_table
from culprit.json_types import Json

app = typer.Typer(no_args_is_help=True)
Hosts = Annotated[list[str] | None, typer.Option("--host", help="Name or ID of a host. Can be repeated")]
Labels = Annotated[list[str] | None, typer.Option("--label", help="NAME=VALUE. Can be repeated")]
ServiceName = Annotated[str | None, typer.Option("--service", help="All hosts of this service")]
Everywhere = Annotated[bool, typer.Option("--everywhere", help="All hosts")]
Kind = Annotated[str, typer.Option(help="deploy, config, restart, note, or another word")]
At = Annotated[str | None, typer.Option(help="Start, for example 2026-11-23T02:14:00Z. Default: now")]
Until = Annotated[str | None, typer.Option(help="End, for an event with a duration")]
Who = Annotated[str, typer.Option(help="Who made the change, if not you")]
Link = Annotated[str | None, typer.Option(help="Link to details: http or https")]
Detail = Annotated[str, typer.Option(help="Details, one or more lines")]
Which = Annotated[str, typer.Argument(help="ID of the event")]


def register_commands(root: typer.Typer) -> None:
    """Add the command group `event`."""
    root.add_typer(app, name="event", help="Reported deploys, config changes and notes.")


@app.command("report")
def report_event(  # noqa: PLR0917
    what: Annotated[str, typer.Argument(help="One-line description of the event")],
    kind: Kind = "note",
    host: Hosts = None,
    label: Labels = None,
    service: ServiceName = None,
    everywhere: Everywhere = False,
    at: At = None,
    until: Until = None,
    who: Who = "",
    link: Link = None,
    detail: Detail = "",
    external_id: Annotated[
        str | None, typer.Option("--id", help="Your own ID. Reporting it again updates the event")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Report a deploy, a config change or a note, shown on the timelines of hosts.

    culprit event report "feed 4f2a" --kind deploy --service feed --id "$CI_JOB_ID" --link "$CI_JOB_URL"
    """
    supplied = {
        "at": at,
        "until": until,
        "link": link,
        "external_id": external_id,
        "who": who,
        "detail": detail,
    }
    body: Json = {"what": what, "kind": kind, **{name: value for name, value in supplied.items() if value}}
    body |= _select_hosts(host, label, service, everywhere=everywhere)
    _print_event(Server(find_target()).post("/reported-events", body), as_json=as_json)


def _select_hosts(
    host: list[str] | None, label: list[str] | None, service: str | None, *, everywhere: bool
) -> Json:
    """Return the target of the event in the form of the API.

    Raises CliError unless exactly one option selects it.
    """
    labels: dict[str, str] = {}
    for text in label or []:
        name, equals, value = text.partition("=")
        if not equals:
            raise CliError(ExitCode.USAGE, f"'{text}' is not a label. Use NAME=VALUE.")
        labels[name] = value
    selections: Json = {"hosts": host, "labels": labels, "service": service, "everywhere": everywhere}
    chosen = {name: value for name, value in selections.items() if value}
    if len(chosen) != 1:
        raise CliError(
            ExitCode.USAGE,
            "Select the hosts with exactly one of --host, --label, --service and --everywhere.",
        )
    return chosen


@app.command("list")
def list_events(  # noqa: PLR0917
    host: Annotated[str | None, typer.Option(help="Only events of this host")] = None,
    kind: Annotated[str | None, typer.Option(help="Only events of this kind")] = None,
    since: Annotated[str | None, typer.Option(help="Only events that began at this time or later")] = None,
    withdrawn: Annotated[bool, typer.Option("--withdrawn", help="Include withdrawn events")] = False,
    limit: Annotated[int, typer.Option(min=1, max=200, help="Maximum number of events")] = 50,
    as_json: AsJson = False,
) -> None:
    """List reported events, the newest first."""
    server = Server(find_target())
    items = server.get(
        "/reported-events",
        host_id=find_host(server, host)["id"] if host else None,
        kind=kind,
        since=since,
        withdrawn=withdrawn or None,
        limit=limit,
    )["items"]
    if as_json:
        print_json(items)
        return
    rows = [
        (
            item["id"], item["at"], item["kind"], item["what"], item["who"] or item["reported_by"]["name"],
            describe_target(item),
            "withdrawn" if item["withdrawn_at"] else "",
        )
        for item in items
    ]  # fmt: skip
    print_table(("EVENT", "AT", "KIND", "WHAT", "WHO", "WHERE", "STATE"), rows)


@app.command("update")
def update_event(  # noqa: PLR0917
    event: Which,
    what: Annotated[str | None, typer.Option(help="One-line description of the event")] = None,
    kind: Annotated[str | None, typer.Option(help="Kind of the event")] = None,
    at: At = None,
    until: Until = None,
    who: Annotated[str | None, typer.Option(help="Who made the change")] = None,
    link: Link = None,
    detail: Annotated[str | None, typer.Option(help="Details")] = None,
    as_json: AsJson = False,
) -> None:
    """Update an event that you reported. Options that are left out keep their values."""
    supplied = {
        "what": what,
        "kind": kind,
        "at": at,
        "until": until,
        "who": who,
        "link": link,
        "detail": detail,
    }
    body = {name: value for name, value in supplied.items() if value is not None}
    if not body:
        raise CliError(ExitCode.USAGE, "Nothing to update. Use at least one option.")
    _print_event(Server(find_target()).patch(f"/reported-events/{event}", body), as_json=as_json)


@app.command("withdraw")
def withdraw_event(event: Which) -> None:
    """Withdraw an event from all timelines."""
    Server(find_target()).delete(f"/reported-events/{event}")
    print_line(sys.stderr, "Withdrawn.")


def describe_target(item: Json) -> str:
    """Return where an event happened, as a short text."""
    place = item["target"]
    if place["kind"] == "everywhere":
        return "everywhere"
    named = place["service"] or " ".join(f"{k}={v}" for k, v in (place["labels"] or {}).items())
    hosts = ", ".join(host["name"] for host in place["hosts"][:3])
    more = place["host_count"] - min(3, len(place["hosts"]))
    return " ".join(part for part in (named, hosts, f"and {more} more" if more > 0 else "") if part)


def _print_event(item: Json, *, as_json: bool) -> None:
    if as_json:
        print_json(item)
    else:
        print_line(
            sys.stdout,
            f"{item['id']} {item['kind']} at {item['at']}, {describe_target(item)}: {item['what']}",
        )
