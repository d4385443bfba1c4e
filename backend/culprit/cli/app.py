"""Register the commands and map errors to exit statuses.

Each module of `commands` adds its own with `register_commands`.

With --json, a command prints one JSON value on standard output and everything else on standard error.

Exit status: 0 done, 1 bug, 2 wrong usage, 3 partial, 4 failed or expired, 5 refused by the server, 6 server
not reachable, 7 canceled, 8 not logged in, 9 timed out.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from typing import Annotated

import typer

from culprit import VERSION
from culprit.cli import commands
from culprit.cli.connection import CliError, ExitCode, Server, ServerTarget, store_target
from culprit.cli.mcp import server as mcp
from culprit.cli.terminal import print_line

app = typer.Typer(
    name="culprit",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Capture hosts and read the results through the API of a running platform.",
)
for _module in pkgutil.iter_modules(commands.__path__):
    importlib.import_module(f"{commands.__name__}.{_module.name}").register_commands(app)
mcp.register_command(app)


@app.command("login")
def log_in(
    url: Annotated[str, typer.Argument(help="Address of the platform, for example https://culprit.example")],
    name: Annotated[
        str | None, typer.Option(help="Account. Without this option, the command asks for it")
    ] = None,
    token: Annotated[str | None, typer.Option(help="API token, instead of name and password")] = None,
) -> None:
    """Store the address of a server and a token for later commands."""
    url = url.rstrip("/")
    if token is None:
        name = name or typer.prompt("Name", err=True)
        password = typer.prompt("Password", hide_input=True, err=True)
        server = Server(ServerTarget(url, None, "login"))
        me = server.post("/session", {"name": name, "password": password})
        csrf = {"X-CSRF-Token": str(me["csrf"])}
        token = str(server.post("/tokens", {"name": "command line"}, **csrf)["token"])
        server.delete("/session", **csrf)
    me = Server(ServerTarget(url, token, "login")).get("/me")
    path = store_target(url, token)
    print_line(sys.stderr, f"Logged in to {url} as {me['name']} ({me['role']}). Token stored in {path}.")


@app.command("version")
def print_version() -> None:
    """Print the version."""
    print_line(sys.stdout, VERSION)


def main(argv: list[str]) -> int:
    """Run one command and return its exit status."""
    try:
        app(args=argv, prog_name="./culprit")
    except CliError as stop:
        print_line(sys.stderr, stop.message)
        return stop.status
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else ExitCode.DONE
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()
    return ExitCode.DONE
