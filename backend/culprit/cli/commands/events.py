"""culprit annotate, culprit event list|correct|withdraw"""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from culprit.cli.connection import Exit, Server, Stop, find_target
from culprit.cli.hosts import find_host
from culprit.cli.terminal import AsJson, print_json, say_to, table

app = typer.Typer(no_args_is_help=True)
Json = dict[str, Any]
Hosts = Annotated[list[str] | None, typer.Option("--host", help="A host by name or id; may be repeated")]
Labels = Annotated[list[str] | None, typer.Option("--label", help="NAME=VALUE; may be repeated")]
ServiceName = Annotated[str | None, typer.Option("--service", help="All hosts that run this service")]
Everywhere = Annotated[bool, typer.Option("--everywhere", help="All hosts")]
Kind = Annotated[str, typer.Option(help="deploy, config, restart, note, or a word of your own")]
At = Annotated[str | None, typer.Option(help="When it began: 2026-11-23T02:14:00Z; now where left out")]
Until = Annotated[str | None, typer.Option(help="When it ended, where it took a while")]
Who = Annotated[str, typer.Option(help="Who did it, where that is not you")]
Link = Annotated[str | None, typer.Option(help="Where there is more of it: http or https")]
Detail = Annotated[str, typer.Option(help="More of it, in several lines if need be")]
Which = Annotated[str, typer.Argument(help="Id of the event")]


def register(root: typer.Typer) -> None:
    """Add the command of this file that stands alone."""
    root.command()(annotate)


def annotate(  # noqa: PLR0917
    what: Annotated[str, typer.Argument(help="What happened, in a line")],
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
        str | None, typer.Option("--id", help="An id of yours: said twice, it is one event, corrected")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Put a deploy, a change or a note on the timelines of hosts.

    culprit annotate "feed 4f2a" --kind deploy --service feed --id "$CI_JOB_ID" --link "$CI_JOB_URL"
    """
    given = {"at": at, "until": until, "link": link, "external_id": external_id, "who": who, "detail": detail}
    body: Json = {"what": what, "kind": kind, **{name: value for name, value in given.items() if value}}
    body |= _place(host, label, service, everywhere=everywhere)
    _tell(Server(find_target()).post("/events", body), as_json=as_json)


def _place(host: list[str] | None, label: list[str] | None, service: str | None, *, everywhere: bool) -> Json:
    """Where it happened, in the one way that was given. Raises Stop."""
    labels: dict[str, str] = {}
    for text in label or []:
        name, equals, value = text.partition("=")
        if not equals:
            raise Stop(Exit.USAGE, f"'{text}' is no label; say NAME=VALUE.")
        labels[name] = value
    ways: Json = {"hosts": host, "labels": labels, "service": service, "everywhere": everywhere}
    chosen = {name: value for name, value in ways.items() if value}
    if len(chosen) != 1:
        raise Stop(Exit.USAGE, "Say where, in one way: --host, --label, --service or --everywhere.")
    return chosen


@app.command("list")
def list_events(  # noqa: PLR0917
    host: Annotated[str | None, typer.Option(help="Only what holds for this host")] = None,
    kind: Annotated[str | None, typer.Option(help="Only of this kind")] = None,
    since: Annotated[str | None, typer.Option(help="Only what began then or later")] = None,
    withdrawn: Annotated[bool, typer.Option("--withdrawn", help="Also what was taken back")] = False,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many at most")] = 50,
    as_json: AsJson = False,
) -> None:
    """What was told, the newest first."""
    server = Server(find_target())
    found = server.get(
        "/events",
        host_id=find_host(server, host)["id"] if host else None,
        kind=kind,
        since=since,
        withdrawn=withdrawn or None,
        limit=limit,
    )["items"]
    if as_json:
        print_json(found)
        return
    rows = [
        (
            one["id"], one["at"], one["kind"], one["what"], one["who"] or one["told_by"]["name"], where(one),
            "withdrawn" if one["withdrawn_at"] else "",
        )
        for one in found
    ]  # fmt: skip
    table(("EVENT", "AT", "KIND", "WHAT", "WHO", "WHERE", "STATE"), rows)


@app.command()
def correct(  # noqa: PLR0917
    event: Which,
    what: Annotated[str | None, typer.Option(help="What happened, in a line")] = None,
    kind: Annotated[str | None, typer.Option(help="Its kind")] = None,
    at: At = None,
    until: Until = None,
    who: Annotated[str | None, typer.Option(help="Who did it")] = None,
    link: Link = None,
    detail: Annotated[str | None, typer.Option(help="More of it")] = None,
    as_json: AsJson = False,
) -> None:
    """Change what you told; what is not named stays."""
    given = {"what": what, "kind": kind, "at": at, "until": until, "who": who, "link": link, "detail": detail}
    body = {name: value for name, value in given.items() if value is not None}
    if not body:
        raise Stop(Exit.USAGE, "Nothing to correct: name at least one option.")
    _tell(Server(find_target()).patch(f"/events/{event}", body), as_json=as_json)


@app.command()
def withdraw(event: Which) -> None:
    """Take an event from every timeline."""
    Server(find_target()).delete(f"/events/{event}")
    say_to(sys.stderr, "Withdrawn.")


def where(one: Json) -> str:
    """Where an event happened, in a few words."""
    place = one["where"]
    if place["kind"] == "everywhere":
        return "everywhere"
    named = place["service"] or " ".join(f"{k}={v}" for k, v in (place["labels"] or {}).items())
    hosts = ", ".join(host["name"] for host in place["hosts"][:3])
    more = place["hosts_total"] - min(3, len(place["hosts"]))
    return " ".join(part for part in (named, hosts, f"and {more} more" if more > 0 else "") if part)


def _tell(one: Json, *, as_json: bool) -> None:
    if as_json:
        print_json(one)
    else:
        say_to(sys.stdout, f"{one['id']} {one['kind']} at {one['at']}, {where(one)}: {one['what']}")
