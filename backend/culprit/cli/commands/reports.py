"""culprit report list, create, show, update, preview, freeze, approve, download, share, revoke"""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated
from uuid import UUID, uuid4

import typer

from culprit.cli.commands.incidents import Which, find_incident
from culprit.cli.connection import CliError, ExitCode, Server, find_target
from culprit.cli.terminal import AsJson, print_json, print_line, print_table
from culprit.json_types import Json

app = typer.Typer(no_args_is_help=True)
Report = Annotated[str, typer.Argument(help="ID of a report")]
Version = Annotated[
    int | None, typer.Option("--version", help="Number of a frozen version. Default: the newest")
]


class Preset(StrEnum):
    """Audience of a report."""

    INTERNAL = "internal"
    CUSTOMER = "customer"


class Form(StrEnum):
    """File formats of a frozen report."""

    HTML = "html"
    MARKDOWN = "markdown"
    JSON = "json"


def register_commands(root: typer.Typer) -> None:
    """Add the command group `report`."""
    root.add_typer(app, name="report", help="Frozen, redacted reports of incidents, shared by link.")


@app.command("list")
def list_reports(incident: Which, as_json: AsJson = False) -> None:
    """List the reports of an incident, the newest first."""
    server = Server(find_target())
    result = server.get(f"/incidents/{find_incident(server, incident)['id']}/reports")
    if as_json:
        print_json(result)
        return
    rows = [[item["id"], item["language"], item["preset"], item["frozen"], item["title"]] for item in result]
    print_table(["id", "language", "for", "frozen", "title"], rows)


@app.command("create")
def create_report(  # noqa: PLR0917
    incident: Which,
    title: Annotated[str | None, typer.Option(help="Default: the title of the incident")] = None,
    language: Annotated[str, typer.Option(help="en or zh")] = "en",
    zone: Annotated[str, typer.Option(help="Time zone, for example Europe/Berlin")] = "UTC",
    preset: Annotated[
        Preset, typer.Option(help="internal keeps names, customer replaces them")
    ] = Preset.CUSTOMER,
    as_json: AsJson = False,
) -> None:
    """Create a report of an incident."""
    server = Server(find_target())
    body = {"title": title, "language": language, "zone": zone, "preset": preset.value}
    incident_id = find_incident(server, incident)["id"]
    _print_report(
        server.post(f"/incidents/{incident_id}/reports", body, **_build_idempotency()), as_json=as_json
    )


@app.command("show")
def show_report(report: Report, as_json: AsJson = False) -> None:
    """Show a draft with its frozen versions and share links."""
    _print_report(_find_report(Server(find_target()), report), as_json=as_json)


@app.command("update")
def edit_report(  # noqa: PLR0917
    report: Report,
    summary: Annotated[str | None, typer.Option(help="Summary in one paragraph")] = None,
    impact: Annotated[str | None, typer.Option(help="Affected users, severity and duration")] = None,
    detected: Annotated[
        str | None, typer.Option(help="When the problem was noticed, for example 2026-01-31T02:14:00Z")
    ] = None,
    mitigated: Annotated[str | None, typer.Option(help="When users were no longer affected")] = None,
    word: Annotated[list[str] | None, typer.Option(help="A word to redact. Can be repeated")] = None,
    follow_up: Annotated[list[str] | None, typer.Option(help="A follow-up task. Can be repeated")] = None,
    as_json: AsJson = False,
) -> None:
    """Update a draft. Options that are left out keep their values."""
    server = Server(find_target())
    now = _find_report(server, report)
    supplied = {
        "summary": summary,
        "impact": impact,
        "detected_at": detected,
        "mitigated_at": mitigated,
        "words": word,
    }
    body: Json = {name: value for name, value in supplied.items() if value is not None}
    if follow_up:
        body["follow_ups"] = [*now["follow_ups"], *({"what": item} for item in follow_up)]
    _print_report(server.patch(f"/reports/{now['id']}", {"version": now["version"], **body}), as_json=as_json)


@app.command("preview")
def preview_report(report: Report, as_json: AsJson = False) -> None:
    """Preview which words are replaced, and by what."""
    server = Server(find_target())
    reported = server.get(f"/reports/{_parse_uuid(report)}/preview")
    if as_json:
        print_json(reported)
        return
    print_table(["kind", "original", "pseudonym"], [list(item.values()) for item in reported["replaced"]])


@app.command("freeze")
def freeze_report(report: Report, as_json: AsJson = False) -> None:
    """Freeze the current draft and incident as a new version."""
    server = Server(find_target())
    now = _find_report(server, report)
    result = server.post(
        f"/reports/{now['id']}/versions", {"version": now["version"]}, **_build_idempotency()
    )
    if as_json:
        print_json({name: value for name, value in result.items() if name != "content"})
        return
    print_line(sys.stdout, f"version {result['number']} of {now['title']}: sha256 {result['sha256']}")


@app.command("approve")
def approve_report(report: Report, version: Version = None) -> None:
    """Approve a version that another user froze."""
    server = Server(find_target())
    item = _find_version(_find_report(server, report), version)
    server.post(f"/report-versions/{item['id']}/approve", {})
    print_line(sys.stdout, f"version {item['number']} is approved")


@app.command("download")
def download_report(
    report: Report,
    version: Version = None,
    format_: Annotated[Form, typer.Option("--format", help="File format")] = Form.HTML,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write")] = None,
) -> None:
    """Download a version as a self-contained HTML file, as Markdown, or as the frozen JSON."""
    server = Server(find_target())
    item = _find_version(_find_report(server, report), version)
    with server.stream(f"/report-versions/{item['id']}/file", form=format_.value) as pieces:
        body = b"".join(pieces)
    if output is None:
        sys.stdout.buffer.write(body)
        sys.stdout.buffer.flush()
        return
    output.write_bytes(body)
    print_line(sys.stderr, f"Written to {output}.")


@app.command("share")
def share_report(
    report: Report,
    version: Version = None,
    days: Annotated[int, typer.Option(min=1, max=90, help="Days until the link expires")] = 14,
    note: Annotated[str, typer.Option(help="Purpose of the link")] = "",
    as_json: AsJson = False,
) -> None:
    """Create a link that shows a version to anyone who has it. The address is printed once."""
    server = Server(find_target())
    item = _find_version(_find_report(server, report), version)
    result = server.post(
        f"/report-versions/{item['id']}/shares", {"days": days, "note": note}, **_build_idempotency()
    )
    if as_json:
        print_json(result)
        return
    print_line(sys.stdout, result["url"])
    print_line(
        sys.stderr,
        f"The link expires at {result['expires_at']}. Revoke it with './culprit report revoke {result['id']}'.",
    )


@app.command("revoke")
def revoke_share(link: Annotated[str, typer.Argument(help="ID of a link, from `report show`")]) -> None:
    """Revoke a link immediately."""
    Server(find_target()).delete(f"/report-shares/{_parse_uuid(link)}")
    print_line(sys.stdout, "closed")


def _build_idempotency() -> dict[str, str]:
    return {"Idempotency-Key": str(uuid4())}


def _parse_uuid(text: str) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        raise CliError(ExitCode.USAGE, f"'{text}' is not an ID.") from None


def _find_report(server: Server, report: str) -> Json:
    return dict(server.get(f"/reports/{_parse_uuid(report)}"))


def _find_version(report: Json, number: int | None) -> Json:
    versions = [version for version in report["versions"] if number in {None, version["number"]}]
    if not versions:
        raise CliError(ExitCode.REFUSED, "Version not found. Freeze the report first.")
    return dict(versions[0])


def _print_report(now: Json, *, as_json: bool) -> None:
    if as_json:
        print_json(now)
        return
    print_line(
        sys.stdout,
        f"{now['id']}  #{now['number']} {now['title']}  {now['language']}, {now['zone']}, {now['preset']}",
    )
    for version in now["versions"]:
        by = f"approved by {version['approved_by']['name']}" if version["approved_by"] else "not approved"
        print_line(
            sys.stdout,
            f"version {version['number']}  {version['created_at']}  {by}  sha256 {version['sha256']}",
        )
    for version in now["shares"]:
        state = f"expires at {version['expires_at']}" if version["open"] else "closed"
        print_line(
            sys.stdout,
            f"link {version['id']}  version {version['number']}  {state}  {version['visits']} visits"
            f"  {version['note']}",
        )
