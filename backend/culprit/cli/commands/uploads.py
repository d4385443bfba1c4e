"""culprit upload new|list|revoke"""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from culprit.cli.connection import Exit, Server, Stop, find_target, sentence
from culprit.cli.hosts import find_host
from culprit.cli.terminal import AsJson, print_json, say_to, table

app = typer.Typer(no_args_is_help=True)


@app.command()
def new(  # noqa: PLR0917
    host: Annotated[str | None, typer.Option(help="Name or id of a host that is enrolled")] = None,
    host_name: Annotated[str | None, typer.Option(help="A name for a host that is not")] = None,
    plan: Annotated[str, typer.Option(help="triage, cpu, sched, io, network or baseline")] = "triage",
    seconds: Annotated[int | None, typer.Option(help="Instead of the plan's own duration")] = None,
    max_mb: Annotated[int, typer.Option(min=1, max=1024, help="MiB that it takes at most")] = 64,
    minutes: Annotated[int, typer.Option(min=1, max=10080, help="How long it is open")] = 60,
    note: Annotated[str, typer.Option(help="What it is for")] = "",
    as_json: AsJson = False,
) -> None:
    """Make an address that takes one bundle, for a host that is reached only by its console."""
    if (host is None) == (host_name is None):
        raise Stop(
            Exit.USAGE, "Name one host: --host for one that is enrolled, --host-name for one that is not."
        )
    server = Server(find_target())
    body: dict[str, Any] = {"plan": plan, "max_mb": max_mb, "minutes": minutes, "note": note}
    if seconds is not None:
        body["seconds"] = seconds
    body |= {"host_id": find_host(server, host)["id"]} if host else {"host_name": host_name}
    made = server.post("/uploads", body)
    if as_json:
        print_json(made)
        return
    say_to(sys.stderr, f"Open until {made['expires_at']}, for one upload. Paste this at the console:")
    say_to(sys.stdout, made["command"])


@app.command("list")
def list_uploads(as_json: AsJson = False) -> None:
    """Upload addresses, newest first, and what became of them."""
    found = Server(find_target()).get("/uploads", limit=100)["items"]
    if as_json:
        print_json(found)
        return
    rows = [
        (
            one["id"], one["host_name"], one["plan"], one["state"], one["expires_at"], one["attempts"],
            one["bytes"] or "", sentence(one["failure"]) or "",
        )
        for one in found
    ]  # fmt: skip
    table(("UPLOAD", "HOST", "PLAN", "STATE", "UNTIL", "TRIES", "BYTES", "LAST REFUSAL"), rows)


@app.command()
def revoke(upload: Annotated[str, typer.Argument(help="Id of the upload address")]) -> None:
    """It takes nothing any more."""
    Server(find_target()).delete(f"/uploads/{upload}")
    say_to(sys.stderr, "Revoked.")
