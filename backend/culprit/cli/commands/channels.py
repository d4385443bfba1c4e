"""culprit channel list|create|test|annotations|retry, culprit notification list"""

from __future__ import annotations

import sys
from typing import Annotated
from uuid import uuid4

import typer

from culprit.cli.commands.triggers import find_channel
from culprit.cli.connection import CliError, ExitCode, Server, find_target, render_message
from culprit.cli.terminal import AsJson, print_json, print_line, print_table
from culprit.json_types import Json

app = typer.Typer(no_args_is_help=True)
notification_app = typer.Typer(no_args_is_help=True)


def register_commands(root: typer.Typer) -> None:
    """Add the command groups `channel` and `notification`."""
    root.add_typer(app, name="channel", help="Destinations of notifications.")
    root.add_typer(notification_app, name="notification", help="Notifications and failed deliveries.")


@app.command("list")
def list_channels(as_json: AsJson = False) -> None:
    """List the channels and their queued and failed deliveries."""
    channels = Server(find_target()).get("/channels", limit=200)["items"]
    if as_json:
        print_json(channels)
        return
    rows = [
        [
            channel["name"],
            channel["kind"],
            channel["destination"].get("server", ""),
            channel["locale"],
            channel["queued"],
            channel["failed"],
        ]
        for channel in channels
    ]
    print_table(["NAME", "KIND", "DESTINATION", "LANGUAGE", "QUEUED", "FAILED"], rows)


@app.command("create")
def create_channel(  # noqa: PLR0917
    name: Annotated[str, typer.Argument(help="Name of the channel")],
    kind: Annotated[str, typer.Option(help="webhook, slack, email or grafana")] = "webhook",
    url: Annotated[
        str | None,
        typer.Option(help="URL of the webhook, Slack or Grafana", envvar="CULPRIT_CHANNEL_URL"),
    ] = None,
    server_: Annotated[str | None, typer.Option("--server", help="Mail server as host:port")] = None,
    security: Annotated[str, typer.Option(help="Mail: starttls, tls or none")] = "starttls",
    username: Annotated[str, typer.Option(help="User name at the mail server")] = "",
    password: Annotated[
        str, typer.Option(help="Password at the mail server", envvar="CULPRIT_CHANNEL_PASSWORD")
    ] = "",
    sender: Annotated[str, typer.Option(help="Sender address of mail")] = "",
    to: Annotated[list[str] | None, typer.Option(help="Recipient of mail; repeat for more")] = None,
    token: Annotated[
        str | None, typer.Option(help="Token of a Grafana service account", envvar="CULPRIT_CHANNEL_TOKEN")
    ] = None,
    language: Annotated[str, typer.Option(help="en or zh")] = "en",
) -> None:
    """Create a channel. The secret of a webhook is printed once."""
    body: Json = {"name": name, "kind": kind, "locale": language}
    if kind == "email":
        host, _, port = (server_ or "").rpartition(":")
        if not host or not port.isdigit():
            raise CliError(ExitCode.USAGE, "Email needs --server HOST:PORT, --sender and --to.")
        mail = {"host": host, "port": int(port), "security": security, "username": username}
        body["mail"] = {**mail, "password": password, "sender": sender, "to": to or []}
    else:
        body["url"] = url
        if kind == "grafana":
            body["secret"] = token
    channel = Server(find_target()).post("/channels", body, **{"Idempotency-Key": str(uuid4())})
    print_line(sys.stdout, f"{channel['name']}: {channel['destination'].get('server', '')}")
    if channel["secret"]:
        print_line(sys.stdout, f"secret (shown once): {channel['secret']}")


@app.command("test")
def send_test_notification(name: Annotated[str, typer.Argument(help="Name or ID of the channel")]) -> None:
    """Send a notification with example numbers."""
    server = Server(find_target())
    channel = find_channel(server, name)
    notification = server.post(f"/channels/{channel['id']}/test", {}, **{"Idempotency-Key": str(uuid4())})
    print_line(
        sys.stdout,
        f"Notification #{notification['number']} is queued. Check it with './culprit notification list'.",
    )


@notification_app.command("list")
def list_notifications(
    state: Annotated[str | None, typer.Option(help="queued, sent or failed")] = None,
    as_json: AsJson = False,
) -> None:
    """List notifications, the newest first, and why deliveries failed."""
    notifications = Server(find_target()).get("/notifications", state=state, limit=100)["items"]
    if as_json:
        print_json(notifications)
        return
    rows = [
        [
            f"#{notification['number']}",
            notification["channel"],
            notification["state"],
            notification["attempts"],
            notification["message"]["headline"],
            render_message(notification["failure"]) if notification["failure"] else "",
        ]
        for notification in notifications
    ]
    print_table(["NUMBER", "CHANNEL", "STATE", "ATTEMPTS", "MESSAGE", "REASON"], rows)


@app.command("annotations")
def list_annotations(
    state: Annotated[str | None, typer.Option(help="queued, sent, failed or deleted")] = None,
    as_json: AsJson = False,
) -> None:
    """List annotations in Grafana, the newest first, and why deliveries failed."""
    annotations = Server(find_target()).get("/grafana-annotations", state=state, limit=100)["items"]
    if as_json:
        print_json(annotations)
        return
    rows = [
        [
            annotation["channel"],
            annotation["state"],
            annotation["attempts"],
            annotation["about"],
            annotation["text"],
            render_message(annotation["failure"]) or "",
        ]
        for annotation in annotations
    ]
    print_table(["CHANNEL", "STATE", "ATTEMPTS", "ABOUT", "TEXT", "REASON"], rows)


@app.command("retry")
def retry_deliveries(
    name: Annotated[str, typer.Argument(help="Name or ID of the channel")], as_json: AsJson = False
) -> None:
    """Retry all failed notifications or annotations of a channel."""
    server = Server(find_target())
    channel = find_channel(server, name)
    updated = server.post(f"/channels/{channel['id']}/retry", {})
    if as_json:
        print_json(updated)
        return
    print_line(sys.stdout, f"Retrying {channel['failed']}. Queued: {updated['queued']}.")
