"""culprit upload create, list, revoke"""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from culprit.cli.commands.hosts import find_host
from culprit.cli.connection import CliError, ExitCode, Server, find_target, render_message
from culprit.cli.terminal import AsJson, print_json, print_line, print_table

app = typer.Typer(no_args_is_help=True)


def register_commands(root: typer.Typer) -> None:
    """Add the command group `upload`."""
    root.add_typer(app, name="upload", help="One-time addresses that accept the output of a capture script.")


@app.command("create")
def create_upload(  # noqa: PLR0917
    host: Annotated[str | None, typer.Option(help="Name or ID of an added host")] = None,
    host_name: Annotated[str | None, typer.Option(help="Name for a host that was not added")] = None,
    plan: Annotated[str, typer.Option(help="triage, cpu, sched, io, network or baseline")] = "triage",
    seconds: Annotated[int | None, typer.Option(help="Instead of the plan's own duration")] = None,
    max_mb: Annotated[int, typer.Option(min=1, max=1024, help="Maximum size of the upload in MiB")] = 64,
    minutes: Annotated[int, typer.Option(min=1, max=10080, help="Minutes until the address expires")] = 60,
    note: Annotated[str, typer.Option(help="Purpose of the address")] = "",
    as_json: AsJson = False,
) -> None:
    """Create a one-time upload address, for a host that is reachable only by its console."""
    if (host is None) == (host_name is None):
        raise CliError(
            ExitCode.USAGE, "Use --host for an added host or --host-name for another host, not both."
        )
    server = Server(find_target())
    body: dict[str, Any] = {"plan": plan, "max_mb": max_mb, "minutes": minutes, "note": note}
    if seconds is not None:
        body["seconds"] = seconds
    body |= {"host_id": find_host(server, host)["id"]} if host else {"host_name": host_name}
    result = server.post("/uploads", body)
    if as_json:
        print_json(result)
        return
    print_line(
        sys.stderr,
        f"Open until {result['expires_at']}, for one upload. Paste this into the console of the host:",
    )
    print_line(sys.stdout, result["command"])


@app.command("list")
def list_uploads(as_json: AsJson = False) -> None:
    """List upload addresses with their results, the newest first."""
    items = Server(find_target()).get("/uploads", limit=100)["items"]
    if as_json:
        print_json(items)
        return
    rows = [
        (
            item["id"], item["host_name"], item["plan"], item["state"], item["expires_at"], item["attempts"],
            item["bytes"] or "", render_message(item["failure"]) or "",
        )
        for item in items
    ]  # fmt: skip
    print_table(("UPLOAD", "HOST", "PLAN", "STATE", "UNTIL", "TRIES", "BYTES", "LAST REJECTION"), rows)


@app.command("revoke")
def revoke_upload(upload: Annotated[str, typer.Argument(help="ID of the upload address")]) -> None:
    """Revoke an upload address. It accepts no upload afterwards."""
    Server(find_target()).delete(f"/uploads/{upload}")
    print_line(sys.stderr, "Revoked.")
