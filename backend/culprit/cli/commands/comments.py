"""culprit incident comment|comments"""

from __future__ import annotations

import sys
from typing import Annotated
from uuid import uuid4

import typer

from culprit.cli.commands import incidents
from culprit.cli.commands.incidents import Which, find_incident
from culprit.cli.connection import CliError, ExitCode, Server, find_target
from culprit.cli.terminal import AsJson, print_json, print_line
from culprit.json_types import Json


def add_comment(  # noqa: PLR0917
    incident: Which,
    text: Annotated[str, typer.Argument(help="Plain text; @name notifies that user. - reads standard input")],
    step: Annotated[str | None, typer.Option(help="About this step, as playbook/step")] = None,
    hypothesis: Annotated[str | None, typer.Option(help="About this hypothesis, by its key")] = None,
    pin: Annotated[str | None, typer.Option(help="About this pin, by its id")] = None,
    as_json: AsJson = False,
) -> None:
    """Add a comment to an incident."""
    supplied = {"step": step, "hypothesis": hypothesis, "pin": pin}
    about = [(kind, ref) for kind, ref in supplied.items() if ref is not None] or [("incident", "")]
    if len(about) > 1:
        raise CliError(
            ExitCode.USAGE, "A comment is about one thing: give one of --step, --hypothesis and --pin."
        )
    words = sys.stdin.read() if text == "-" else text
    server = Server(find_target())
    body = {"text": words, "about": about[0][0], "ref": about[0][1]}
    path = f"/incidents/{find_incident(server, incident)['id']}/comments"
    result = server.post(path, body, **{"Idempotency-Key": str(uuid4())})
    if as_json:
        print_json(result)
    else:
        _print_comment(result)


def list_comments(incident: Which, as_json: AsJson = False) -> None:
    """List the comments, oldest first."""
    server = Server(find_target())
    items = server.get(f"/incidents/{find_incident(server, incident)['id']}/comments", limit=200)["items"]
    if as_json:
        print_json(items)
        return
    for item in reversed(items):
        _print_comment(item)


def _print_comment(item: Json) -> None:
    about = f" on {item['ref']}" if item["ref"] else ""
    print_line(
        sys.stdout, f"{item['at'][:16].replace('T', ' ')} {(item['by'] or {}).get('name', '')}{about}:"
    )
    reported = item["text"].split("\n") if not item["withdrawn_at"] else ["(withdrawn)"]
    for line in reported:
        print_line(sys.stdout, f"  {line}")
    for name in [each["name"] for each in item["mentions"] if not each["notified"]]:
        print_line(sys.stderr, f"{name} has no channel and was not notified.")


def register_commands(_: typer.Typer) -> None:
    """Add the commands of comments to those of incidents."""
    incidents.app.command("comment")(add_comment)
    incidents.app.command("comments")(list_comments)
