"""culprit channel list|new|test|notices|annotations|again"""

from __future__ import annotations

import sys
from typing import Annotated, Any
from uuid import uuid4

import typer

from culprit.cli.connection import Exit, Server, Stop, find_target, sentence
from culprit.cli.terminal import AsJson, print_json, say_to, table
from culprit.cli.triggers import find_channel

app = typer.Typer(no_args_is_help=True)
Json = dict[str, Any]


@app.command("list")
def list_channels(as_json: AsJson = False) -> None:
    """Where messages go."""
    found = Server(find_target()).get("/channels", limit=200)["items"]
    if as_json:
        print_json(found)
        return
    rows = [
        [one["name"], one["kind"], one["shown"].get("server", ""), one["locale"], one["queued"], one["dead"]]
        for one in found
    ]
    table(["name", "kind", "leads to", "language", "queued", "dead"], rows)


@app.command()
def new(  # noqa: PLR0917
    name: Annotated[str, typer.Argument(help="What it is called")],
    kind: Annotated[str, typer.Option(help="webhook, slack, email or grafana")] = "webhook",
    url: Annotated[
        str | None,
        typer.Option(help="Of a webhook or a Slack-compatible place", envvar="CULPRIT_CHANNEL_URL"),
    ] = None,
    server_: Annotated[str | None, typer.Option("--server", help="Mail server as host:port")] = None,
    security: Annotated[str, typer.Option(help="Of mail: starttls, tls or none")] = "starttls",
    username: Annotated[str, typer.Option(help="At the mail server")] = "",
    password: Annotated[str, typer.Option(help="At the mail server", envvar="CULPRIT_CHANNEL_PASSWORD")] = "",
    sender: Annotated[str, typer.Option(help="Mail is from")] = "",
    to: Annotated[list[str] | None, typer.Option(help="Mail is to; may be repeated")] = None,
    token: Annotated[
        str | None, typer.Option(help="Of a service account of Grafana", envvar="CULPRIT_CHANNEL_TOKEN")
    ] = None,
    language: Annotated[str, typer.Option(help="en or zh")] = "en",
) -> None:
    """Make a channel; a webhook's secret is printed once."""
    body: Json = {"name": name, "kind": kind, "locale": language}
    if kind == "email":
        host, _, port = (server_ or "").rpartition(":")
        if not host or not port.isdigit():
            raise Stop(Exit.USAGE, "E-mail needs --server HOST:PORT, --sender and --to.")
        mail = {"host": host, "port": int(port), "security": security, "username": username}
        body["mail"] = {**mail, "password": password, "sender": sender, "to": to or []}
    else:
        body["url"] = url
        if kind == "grafana":
            body["secret"] = token
    made = Server(find_target()).post("/channels", body, **{"Idempotency-Key": str(uuid4())})
    say_to(sys.stdout, f"{made['name']}: {made['shown'].get('server', '')}")
    if made["secret"]:
        say_to(sys.stdout, f"secret (shown once): {made['secret']}")


@app.command()
def test(name: Annotated[str, typer.Argument(help="Name or id of the channel")]) -> None:
    """Send a message with made-up numbers."""
    server = Server(find_target())
    channel = find_channel(server, name)
    made = server.post(f"/channels/{channel['id']}/test", {}, **{"Idempotency-Key": str(uuid4())})
    say_to(sys.stdout, f"message #{made['number']} is on its way; see './culprit channel notices'.")


@app.command()
def notices(
    state: Annotated[str | None, typer.Option(help="queued, sent or dead")] = None, as_json: AsJson = False
) -> None:
    """Messages, the newest first, and why some did not arrive."""
    found = Server(find_target()).get("/notices", state=state, limit=100)["items"]
    if as_json:
        print_json(found)
        return
    rows = [
        [
            f"#{one['number']}",
            one["channel"],
            one["state"],
            one["tries"],
            one["message"]["headline"],
            sentence(one["failure"]) if one["failure"] else "",
        ]
        for one in found
    ]
    table(["number", "channel", "state", "tries", "message", "why"], rows)


@app.command("annotations")
def list_annotations(
    state: Annotated[str | None, typer.Option(help="queued, sent, gone or dead")] = None,
    as_json: AsJson = False,
) -> None:
    """Annotations in Grafana, the newest first, and why some did not arrive."""
    found = Server(find_target()).get("/grafana-annotations", state=state, limit=100)["items"]
    if as_json:
        print_json(found)
        return
    rows = [
        [
            one["channel"],
            one["state"],
            one["tries"],
            one["about"],
            one["text"],
            sentence(one["failure"]) or "",
        ]
        for one in found
    ]
    table(["channel", "state", "tries", "about", "text", "why"], rows)


@app.command()
def again(
    name: Annotated[str, typer.Argument(help="Name or id of the channel")], as_json: AsJson = False
) -> None:
    """Try everything again that was given up for a channel: messages, or annotations of a Grafana."""
    server = Server(find_target())
    channel = find_channel(server, name)
    now = server.post(f"/channels/{channel['id']}/again", {})
    if as_json:
        print_json(now)
        return
    say_to(sys.stdout, f"{channel['dead']} are tried again; {now['queued']} are on their way.")
