"""culprit incident export|import"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from culprit.cli.connection import Exit, Server, Stop, find_target
from culprit.cli.incidents import Which, find_incident
from culprit.cli.terminal import AsJson, print_json, say_to

POLL_S = 1.0
WHY = {
    "left_out": "its bytes were left out of the bundle",
    "muted": "its rule was muted there",
    "rules": "the rules here are of another version",
    "unknown": "for no reason that the bundle tells",
}
Json = dict[str, Any]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("export")(export_incident)
    app.command("import")(import_incident)


def export_incident(
    incident: Which,
    file: Annotated[Path, typer.Argument(help="File to write; it must not be there yet")],
    redacted: Annotated[
        bool, typer.Option("--redacted", help="Without names of hosts, people, addresses and paths")
    ] = False,
    comments: Annotated[bool, typer.Option("--comments", help="With what people wrote beside it")] = False,
) -> None:
    """Write an incident with the bytes of its runs as one bundle that another Culprit imports."""
    if file.exists():
        raise Stop(Exit.USAGE, f"{file} is there already.")
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
    say_to(sys.stderr, f"Incident #{now['number']} written to {file}, {size} bytes.")


def import_incident(
    file: Annotated[Path, typer.Argument(help="What an export wrote")],
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until its rules were asked here, and tell what differs")
    ] = False,
    timeout: Annotated[float, typer.Option(help="With --wait: seconds, then exit status 9")] = 600.0,
    as_json: AsJson = False,
) -> None:
    """Read a bundle; it becomes an incident, whose rules are asked here anew. The same file again changes nothing.

    With --wait the exit status is 3 where a verdict is another one here.
    """
    if not file.is_file():
        raise Stop(Exit.USAGE, f"{file}: there is no such file.")
    server = Server(find_target())
    made: Json = server.upload("/incidents/import", file, {})
    read = dict(server.get(f"/incidents/{made['id']}"))
    until = time.monotonic() + timeout
    while wait and read["origin"]["compared"] is None:
        if time.monotonic() > until:
            raise Stop(Exit.TIMED_OUT, f"Incident #{made['number']} is still being read.")
        time.sleep(POLL_S)
        read = dict(server.get(f"/incidents/{made['id']}"))
    compared = read["origin"]["compared"]
    if as_json:
        print_json({**made, "origin": read["origin"]})
    else:
        was = "became" if made["new"] else "is"
        say_to(sys.stdout, f"{file.name} {was} incident #{made['number']}, {made['title']}")
        if compared is not None:
            _tell(compared)
    if compared is not None and compared["unequal"]:
        raise typer.Exit(Exit.PARTIAL)


def _tell(compared: Json) -> None:
    counts = [compared[kind] for kind in ("rule", "step", "hypothesis")]
    total = sum(one["total"] for one in counts)
    say_to(sys.stdout, f"{sum(one['equal'] for one in counts)} of {total} verdicts equal")
    for one in compared["different"]:
        there, here = one["there"] or "nothing", one["here"] or "nothing"
        say_to(sys.stdout, f"  {one['kind']} {one['about']}: {there} there, {here} here, {WHY[one['why']]}")
