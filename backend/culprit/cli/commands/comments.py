"""culprit incident comment|comments"""

from __future__ import annotations

import sys
from typing import Annotated, Any
from uuid import uuid4

import typer

from culprit.cli.connection import Exit, Server, Stop, find_target
from culprit.cli.incidents import Which, find_incident
from culprit.cli.terminal import AsJson, print_json, say_to

Json = dict[str, Any]


def comment(  # noqa: PLR0917
    incident: Which,
    text: Annotated[str, typer.Argument(help="Plain text; @name tells that person. - reads standard input")],
    step: Annotated[str | None, typer.Option(help="About this step, as playbook/step")] = None,
    hypothesis: Annotated[str | None, typer.Option(help="About this hypothesis, by its key")] = None,
    pin: Annotated[str | None, typer.Option(help="About this pin, by its id")] = None,
    as_json: AsJson = False,
) -> None:
    """Say something beside the evidence."""
    given = {"step": step, "hypothesis": hypothesis, "pin": pin}
    about = [(kind, ref) for kind, ref in given.items() if ref is not None] or [("incident", "")]
    if len(about) > 1:
        raise Stop(Exit.USAGE, "A comment is about one thing: give one of --step, --hypothesis and --pin.")
    words = sys.stdin.read() if text == "-" else text
    server = Server(find_target())
    body = {"text": words, "about": about[0][0], "ref": about[0][1]}
    path = f"/incidents/{find_incident(server, incident)['id']}/comments"
    made = server.post(path, body, **{"Idempotency-Key": str(uuid4())})
    if as_json:
        print_json(made)
    else:
        _tell(made)


def comments(incident: Which, as_json: AsJson = False) -> None:
    """What people said, the oldest first."""
    server = Server(find_target())
    found = server.get(f"/incidents/{find_incident(server, incident)['id']}/comments", limit=200)["items"]
    if as_json:
        print_json(found)
        return
    for one in reversed(found):
        _tell(one)


def _tell(one: Json) -> None:
    about = f" on {one['ref']}" if one["ref"] else ""
    say_to(sys.stdout, f"{one['at'][:16].replace('T', ' ')} {(one['by'] or {}).get('name', '')}{about}:")
    told = one["text"].split("\n") if not one["withdrawn_at"] else ["(withdrawn)"]
    for line in told:
        say_to(sys.stdout, f"  {line}")
    for name in [each["name"] for each in one["mentions"] if not each["told"]]:
        say_to(sys.stderr, f"{name} has no channel of their own and was not told.")


def register(app: typer.Typer) -> None:
    """Adds the commands of comments to those of incidents."""
    app.command()(comment)
    app.command()(comments)
