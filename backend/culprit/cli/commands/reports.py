"""culprit report list|new|show|edit|preview|freeze|approve|file|share|revoke"""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID, uuid4

import typer

from culprit.cli.connection import Exit, Server, Stop, find_target
from culprit.cli.incidents import Which, find_incident
from culprit.cli.terminal import AsJson, print_json, say_to, table

app = typer.Typer(no_args_is_help=True)
Json = dict[str, Any]
Report = Annotated[str, typer.Argument(help="Id of a report")]
Version = Annotated[
    int | None, typer.Option("--version", help="Number of a frozen version; the newest when left out")
]


class Preset(StrEnum):
    """For whom it is."""

    INTERNAL = "internal"
    CUSTOMER = "customer"


class Form(StrEnum):
    """What a frozen report can be written as."""

    HTML = "html"
    MARKDOWN = "markdown"
    JSON = "json"


@app.command("list")
def list_reports(incident: Which, as_json: AsJson = False) -> None:
    """The reports of an incident, the newest first."""
    server = Server(find_target())
    found = server.get(f"/incidents/{find_incident(server, incident)['id']}/reports")
    if as_json:
        print_json(found)
        return
    rows = [[one["id"], one["language"], one["preset"], one["frozen"], one["title"]] for one in found]
    table(["id", "language", "for", "frozen", "title"], rows)


@app.command()
def new(  # noqa: PLR0917
    incident: Which,
    title: Annotated[str | None, typer.Option(help="The incident's own when left out")] = None,
    language: Annotated[str, typer.Option(help="en or zh")] = "en",
    zone: Annotated[str, typer.Option(help="Time zone, as in Europe/Berlin")] = "UTC",
    preset: Annotated[
        Preset, typer.Option(help="internal keeps names, customer replaces them")
    ] = Preset.CUSTOMER,
    as_json: AsJson = False,
) -> None:
    """Begin a report of an incident."""
    server = Server(find_target())
    body = {"title": title, "language": language, "zone": zone, "preset": preset.value}
    incident_id = find_incident(server, incident)["id"]
    _tell(server.post(f"/incidents/{incident_id}/reports", body, **_once()), as_json=as_json)


@app.command()
def show(report: Report, as_json: AsJson = False) -> None:
    """A draft with its frozen versions and the links to them."""
    _tell(_find(Server(find_target()), report), as_json=as_json)


@app.command()
def edit(  # noqa: PLR0917
    report: Report,
    summary: Annotated[str | None, typer.Option(help="The answer in one paragraph")] = None,
    impact: Annotated[str | None, typer.Option(help="Who felt it, how much, how long")] = None,
    detected: Annotated[
        str | None, typer.Option(help="When it was noticed, as in 2026-01-31T02:14:00Z")
    ] = None,
    mitigated: Annotated[str | None, typer.Option(help="When it was over for users")] = None,
    word: Annotated[list[str] | None, typer.Option(help="A name to replace; may be repeated")] = None,
    follow_up: Annotated[
        list[str] | None, typer.Option(help="What is still to be done; may be repeated")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write on a draft; what is left out stays."""
    server = Server(find_target())
    now = _find(server, report)
    given = {
        "summary": summary,
        "impact": impact,
        "detected_at": detected,
        "mitigated_at": mitigated,
        "words": word,
    }
    body: Json = {name: value for name, value in given.items() if value is not None}
    if follow_up:
        body["follow_ups"] = [*now["follow_ups"], *({"what": one} for one in follow_up)]
    _tell(server.patch(f"/reports/{now['id']}", {"version": now["version"], **body}), as_json=as_json)


@app.command()
def preview(report: Report, as_json: AsJson = False) -> None:
    """What would be replaced in it by what."""
    server = Server(find_target())
    told = server.get(f"/reports/{_uuid(report)}/preview")
    if as_json:
        print_json(told)
        return
    table(["kind", "original", "pseudonym"], [list(one.values()) for one in told["replaced"]])


@app.command()
def freeze(report: Report, as_json: AsJson = False) -> None:
    """Freeze what the draft and the incident say now."""
    server = Server(find_target())
    now = _find(server, report)
    made = server.post(f"/reports/{now['id']}/versions", {"version": now["version"]}, **_once())
    if as_json:
        print_json({name: value for name, value in made.items() if name != "content"})
        return
    say_to(sys.stdout, f"version {made['number']} of {now['title']}: sha256 {made['sha256']}")


@app.command()
def approve(report: Report, version: Version = None) -> None:
    """Let a version that somebody else froze go out."""
    server = Server(find_target())
    one = _version(_find(server, report), version)
    server.post(f"/report-versions/{one['id']}/approve", {})
    say_to(sys.stdout, f"version {one['number']} is approved")


@app.command()
def file(
    report: Report,
    version: Version = None,
    format_: Annotated[Form, typer.Option("--format", help="What to write")] = Form.HTML,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write")] = None,
) -> None:
    """Write a version as one HTML file that needs no network, as Markdown, or as the JSON that was frozen."""
    server = Server(find_target())
    one = _version(_find(server, report), version)
    with server.stream(f"/report-versions/{one['id']}/file", form=format_.value) as pieces:
        body = b"".join(pieces)
    if output is None:
        sys.stdout.buffer.write(body)
        sys.stdout.buffer.flush()
        return
    output.write_bytes(body)
    say_to(sys.stderr, f"Written to {output}.")


@app.command()
def share(
    report: Report,
    version: Version = None,
    days: Annotated[int, typer.Option(min=1, max=90, help="How long it opens")] = 14,
    note: Annotated[str, typer.Option(help="Whom it is for")] = "",
    as_json: AsJson = False,
) -> None:
    """Make a link that shows a version to whoever has it. Its address is told this once."""
    server = Server(find_target())
    one = _version(_find(server, report), version)
    made = server.post(f"/report-versions/{one['id']}/shares", {"days": days, "note": note}, **_once())
    if as_json:
        print_json(made)
        return
    say_to(sys.stdout, made["url"])
    say_to(
        sys.stderr, f"It opens until {made['expires_at']}; './culprit report revoke {made['id']}' closes it."
    )


@app.command()
def revoke(link: Annotated[str, typer.Argument(help="Id of a link, from `report show`")]) -> None:
    """Close a link at once."""
    Server(find_target()).delete(f"/report-shares/{_uuid(link)}")
    say_to(sys.stdout, "closed")


def _once() -> dict[str, str]:
    return {"Idempotency-Key": str(uuid4())}


def _uuid(text: str) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        raise Stop(Exit.USAGE, f"'{text}' is no id.") from None


def _find(server: Server, report: str) -> Json:
    return dict(server.get(f"/reports/{_uuid(report)}"))


def _version(report: Json, number: int | None) -> Json:
    found = [one for one in report["versions"] if number in {None, one["number"]}]
    if not found:
        raise Stop(Exit.REFUSED, "There is no such version: freeze the report first.")
    return dict(found[0])


def _tell(now: Json, *, as_json: bool) -> None:
    if as_json:
        print_json(now)
        return
    say_to(
        sys.stdout,
        f"{now['id']}  #{now['number']} {now['title']}  {now['language']}, {now['zone']}, {now['preset']}",
    )
    for one in now["versions"]:
        by = f"approved by {one['approved_by']['name']}" if one["approved_by"] else "not approved"
        say_to(sys.stdout, f"version {one['number']}  {one['created_at']}  {by}  sha256 {one['sha256']}")
    for one in now["shares"]:
        state = f"opens until {one['expires_at']}" if one["open"] else "closed"
        say_to(
            sys.stdout,
            f"link {one['id']}  version {one['number']}  {state}  {one['visits']} visits  {one['note']}",
        )
