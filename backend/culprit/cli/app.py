"""Commands, and what they print. With --json: one JSON value on standard output, all else on standard error.

Exit status: 0 done, 1 a bug, 2 wrong usage, 3 partial, 4 failed or expired, 5 refused by the server, 6 server
not reachable, 7 cancelled, 8 not logged in, 9 waited too long.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from culprit.cli import (
    captures,
    carried,
    channels,
    comments,
    demo,
    diagnose,
    events,
    files,
    hosts,
    incidents,
    playbooks,
    reports,
    schedules,
    standbys,
    storage,
    triggers,
    uploads,
)
from culprit.cli.connection import Exit, Server, Stop, Target, store
from culprit.cli.mcp import server as mcp
from culprit.cli.terminal import say_to
from culprit.kit.version import VERSION

app = typer.Typer(
    name="culprit",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Captures hosts and reads what came home, over the API of a running platform.",
)
app.add_typer(hosts.app, name="host", help="Machines that may be captured.")
app.add_typer(playbooks.app, name="playbook", help="Checklists that lead from a symptom to its cause.")
app.add_typer(incidents.app, name="incident", help="What is being investigated, and on what evidence.")
app.add_typer(schedules.app, name="schedule", help="What is captured while nobody watches, and when not.")
app.add_typer(schedules.oncall, name="oncall", help="Who is on call, now and next.")
app.add_typer(
    reports.app, name="report", help="What others read of an incident: frozen, redacted, shared by link."
)
app.add_typer(events.app, name="event", help="What was told: deploys, changes, notes.")
app.add_typer(uploads.app, name="upload", help="Addresses that take one bundle, from a console.")
app.add_typer(triggers.app, name="trigger", help="Endpoints to which other systems send alerts.")
app.add_typer(channels.app, name="channel", help="Where messages with causes go.")
app.add_typer(triggers.kill_switch, name="kill-switch", help="Nothing starts where one is pulled.")
app.add_typer(
    storage.app, name="storage", help="What uses the space, how long it is kept, and whether all is there."
)
captures.register(app)
comments.register(incidents.app)
carried.register(incidents.app)
standbys.register(app)
events.register(app)
files.register(app)
diagnose.register(app)
demo.register(app)
mcp.register(app)


@app.command()
def login(
    url: Annotated[str, typer.Argument(help="Address of the platform, as in https://culprit.example")],
    name: Annotated[str | None, typer.Option(help="Account; asked for when left out")] = None,
    token: Annotated[str | None, typer.Option(help="An API token, instead of name and password")] = None,
) -> None:
    """Keep an address and a token for the commands that follow."""
    url = url.rstrip("/")
    if token is None:
        name = name or typer.prompt("Name", err=True)
        password = typer.prompt("Password", hide_input=True, err=True)
        server = Server(Target(url, None, "login"))
        me = server.post("/session", {"name": name, "password": password})
        csrf = {"X-CSRF-Token": str(me["csrf"])}
        token = str(server.post("/tokens", {"name": "command line"}, **csrf)["token"])
        server.delete("/session", **csrf)
    me = Server(Target(url, token, "login")).get("/me")
    path = store(url, token)
    say_to(sys.stderr, f"Logged in to {url} as {me['name']} ({me['role']}); kept in {path}.")


@app.command()
def version() -> None:
    """Print the version."""
    say_to(sys.stdout, VERSION)


def main(argv: list[str]) -> int:
    """Run one command; the exit status."""
    try:
        app(args=argv, prog_name="./culprit")
    except Stop as stop:
        say_to(sys.stderr, stop.message)
        return stop.status
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else Exit.DONE
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()
    return Exit.DONE
