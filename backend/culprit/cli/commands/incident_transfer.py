"""Incidents: export, import."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from culprit.cli.commands import incidents
from culprit.cli.commands.incidents import Which, find_incident
from culprit.cli.connection import CliError, ExitCode, Server, find_target
from culprit.cli.terminal import AsJson, print_json, print_line
from culprit.json_types import Json

POLL_S = 1.0
WHY = {
    "left_out": "its artifacts were left out of the bundle",
    "muted": "its rule was muted in the original",
    "rules": "the local rules have another version",
    "unknown": "reason unknown",
}


def register_commands(_: typer.Typer) -> None:
    """Add `export` and `import` to the commands of incidents."""
    incidents.app.command("export")(export_incident)
    incidents.app.command("import")(import_incident)


def export_incident(
    incident: Which,
    file: Annotated[Path, typer.Argument(help="File to write; it must not exist")],
    redacted: Annotated[
        bool, typer.Option("--redacted", help="Without names of hosts, people, addresses and paths")
    ] = False,
    comments: Annotated[bool, typer.Option("--comments", help="Include comments")] = False,
) -> None:
    """Export an incident with its artifacts as a bundle for another Culprit."""
    if file.exists():
        raise CliError(ExitCode.USAGE, f"{file} exists already. Choose another name.")
    server = Server(find_target())
    now = find_incident(server, incident)
    how = {"redacted": "true" if redacted else None, "comments": "true" if comments else None}
    partial = file.with_name(f"{file.name}.partial")
    try:
        with server.stream(f"/incidents/{now['id']}/export", **how) as pieces, partial.open("xb") as out:
            size = sum(out.write(piece) for piece in pieces)
        partial.rename(file)
    finally:
        partial.unlink(missing_ok=True)
    print_line(sys.stderr, f"Incident #{now['number']} written to {file}, {size} bytes.")


def import_incident(
    file: Annotated[Path, typer.Argument(help="An exported bundle")],
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for the evaluation, and list different verdicts")
    ] = False,
    timeout: Annotated[float, typer.Option(help="With --wait: seconds, then exit status 9")] = 600.0,
    as_json: AsJson = False,
) -> None:
    """Import a bundle as an incident and evaluate its rules here. Importing the same file again changes nothing.

    With --wait the exit status is 3 if a verdict differs.
    """
    if not file.is_file():
        raise CliError(ExitCode.USAGE, f"{file}: file not found.")
    server = Server(find_target())
    result: Json = server.upload("/incidents/import", file, {})
    read = dict(server.get(f"/incidents/{result['id']}"))
    until = time.monotonic() + timeout
    while wait and read["origin"]["compared"] is None:
        if time.monotonic() > until:
            raise CliError(
                ExitCode.TIMED_OUT, f"Incident #{result['number']} is still being parsed. Check it later."
            )
        time.sleep(POLL_S)
        read = dict(server.get(f"/incidents/{result['id']}"))
    compared = read["origin"]["compared"]
    if as_json:
        print_json({**result, "origin": read["origin"]})
    else:
        was = "became" if result["new"] else "is"
        print_line(sys.stdout, f"{file.name} {was} incident #{result['number']}, {result['title']}")
        if compared is not None:
            _print_comparison(compared)
    if compared is not None and compared["difference_count"]:
        raise typer.Exit(ExitCode.PARTIAL)


def _print_comparison(compared: Json) -> None:
    counts = [compared[kind] for kind in ("rule", "step", "hypothesis")]
    total = sum(count["total"] for count in counts)
    print_line(sys.stdout, f"{sum(count['equal'] for count in counts)} of {total} verdicts equal")
    for item in compared["differences"]:
        original, local = item["original"] or "nothing", item["local"] or "nothing"
        values = f"original {original}, here {local}"
        print_line(sys.stdout, f"  {item['kind']} {item['about']}: {values}, {WHY[item['why']]}")
