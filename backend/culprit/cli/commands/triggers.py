"""culprit trigger list, create, test, remove, alerts; culprit kill-switch activate, deactivate, list"""

from __future__ import annotations

import shlex
import sys
from typing import Annotated
from uuid import uuid4

import typer

from culprit.cli.commands.hosts import find_host
from culprit.cli.connection import CliError, ExitCode, Server, find_target, render_message
from culprit.cli.terminal import AsJson, print_json, print_line, print_table
from culprit.json_types import Json

app = typer.Typer(no_args_is_help=True)
Label = Annotated[list[str] | None, typer.Option(help="name=value. Can be repeated")]
#: Smallest example of each kind of alert, for a manual test of an endpoint.
EXAMPLES = {
    "generic": '{"title": "p99 above 2 s", "host": "feed-7"}',
    "alertmanager": '{"version": "4", "alerts": [{"status": "firing", "labels":'
    ' {"alertname": "HighLatency", "instance": "feed-7:9100"}}]}',
    "grafana": '{"alerts": [{"status": "firing", "labels": {"alertname": "HighLatency", "host": "feed-7"}}]}',
    "pagerduty": '{"event": {"event_type": "incident.triggered", "data":'
    ' {"id": "Q1", "title": "p99 above 2 s", "body": {"details": {"host": "feed-7"}}}}}',
}


def register_commands(root: typer.Typer) -> None:
    """Add the command groups `trigger` and `kill-switch`."""
    root.add_typer(app, name="trigger", help="Endpoints to which other systems send alerts.")
    root.add_typer(kill_switch, name="kill-switch", help="Stop every start for a host, a label or all hosts.")


@app.command("list")
def list_triggers(as_json: AsJson = False) -> None:
    """List triggers with the results of their alerts in the last 24 hours."""
    items = Server(find_target()).get("/triggers", limit=200)["items"]
    if as_json:
        print_json(items)
        return
    rows = [
        [
            item["name"],
            item["kind"],
            item["proof"],
            "on" if item["enabled"] else "off",
            item["alert_count"],
            _format_counts(item),
        ]
        for item in items
    ]
    print_table(["name", "kind", "proof", "state", "alerts", "alerts of 24 h"], rows)


def _format_counts(item: Json) -> str:
    return ", ".join(f"{count} {state}" for state, count in sorted(item["alerts"].items())) or "-"


@app.command("create")
def create_trigger(  # noqa: PLR0917
    name: Annotated[str, typer.Argument(help="Name of the trigger")],
    kind: Annotated[str, typer.Option(help="alertmanager, grafana, pagerduty or generic")] = "generic",
    proof: Annotated[str, typer.Option(help="token or hmac")] = "token",
    secret: Annotated[
        str | None, typer.Option(help="The sender's own secret, for hmac", envvar="CULPRIT_TRIGGER_SECRET")
    ] = None,
    channel: Annotated[
        list[str] | None, typer.Option(help="Channel that receives causes. Can be repeated")
    ] = None,
    peers: Annotated[int, typer.Option(min=0, max=5, help="Number of healthy peers to capture")] = 2,
    as_json: AsJson = False,
) -> None:
    """Create a trigger. Its token or secret is printed once."""
    server = Server(find_target())
    body: Json = {"name": name, "kind": kind, "proof": proof, "options": {"peers": peers}}
    body["channel_ids"] = [find_channel(server, item)["id"] for item in channel or []]
    if secret:
        body["secret"] = secret
    result = server.post("/triggers", body, **{"Idempotency-Key": str(uuid4())})
    if as_json:
        print_json(result)
        return
    url = server.target.url + result["path"]
    print_line(sys.stdout, f"{result['name']}: {url}")
    print_line(sys.stdout, f"secret (shown once): {result['secret']}")
    if proof == "token":
        example = shlex.quote(EXAMPLES[kind])
        print_line(sys.stdout, f"curl -H 'Authorization: Bearer {result['secret']}' -d {example} {url}")


@app.command("test")
def test_trigger(
    name: Annotated[str, typer.Argument(help="Name or ID of the trigger")],
    label: Label = None,
    as_json: AsJson = False,
) -> None:
    """Show how an alert with these labels would be handled. Nothing is started."""
    server = Server(find_target())
    item = _find_trigger(server, name)
    result = server.post(f"/triggers/{item['id']}/test", {"labels": parse_label_pairs(label)})
    if as_json:
        print_json(result)
        return
    where = result["host"]["name"] if result["host"] else "no host"
    print_line(sys.stdout, f"{result['state']}: {where} {result['service']}".rstrip())
    if result["reason"]:
        print_line(sys.stdout, render_message(result["reason"]))
    if result["peers"]:
        print_line(sys.stdout, "with " + ", ".join(each["name"] for each in result["peers"]))


@app.command("remove")
def delete_trigger(name: Annotated[str, typer.Argument(help="Name or ID of the trigger")]) -> None:
    """Delete a trigger and its alerts. Incidents and captures are kept."""
    server = Server(find_target())
    server.delete(f"/triggers/{_find_trigger(server, name)['id']}")


@app.command("alerts")
def list_alerts(
    state: Annotated[str | None, typer.Option(help="started, joined, deferred, refused or unmatched")] = None,
    as_json: AsJson = False,
) -> None:
    """List received alerts with their results, the newest first."""
    items = Server(find_target()).get("/alerts", state=state, limit=100)["items"]
    if as_json:
        print_json(items)
        return
    rows = [
        [
            f"#{item['number']}",
            item["state"],
            item["count"],
            item["title"],
            item["host"]["name"] if item["host"] else "-",
            f"#{item['incident_number']}" if item["incident_number"] else "-",
            render_message(item["reason"]) if item["reason"] else "",
        ]
        for item in items
    ]
    print_table(["number", "state", "sent", "alert", "host", "incident", "why"], rows)


def _find_trigger(server: Server, requested: str) -> Json:
    for item in server.get("/triggers", limit=200)["items"]:
        if requested in {item["name"], item["id"]}:
            return dict(item)
    raise CliError(
        ExitCode.REFUSED, f"No trigger '{requested}'. List triggers with './culprit trigger list'."
    )


def find_channel(server: Server, requested: str) -> Json:
    """Return a channel by name or ID. Raises CliError."""
    for item in server.get("/channels", limit=200)["items"]:
        if requested in {item["name"], item["id"]}:
            return dict(item)
    raise CliError(
        ExitCode.REFUSED, f"No channel '{requested}'. List channels with './culprit channel list'."
    )


def parse_label_pairs(supplied: list[str] | None) -> dict[str, str]:
    """Parse name=value pairs. Raises CliError."""
    results = {}
    for item in supplied or []:
        name, sign, value = item.partition("=")
        if not sign or not name:
            raise CliError(ExitCode.USAGE, f"'{item}' is not a label. Use name=value.")
        results[name] = value
    return results


kill_switch = typer.Typer(no_args_is_help=True)


@kill_switch.command("activate")
def activate_switch(
    host: Annotated[str | None, typer.Option(help="Only on this host")] = None,
    label: Annotated[str | None, typer.Option(help="Only on hosts with this label: name=value")] = None,
    reason: Annotated[str, typer.Option(help="Why")] = "",
    keep_running: Annotated[bool, typer.Option("--keep-running", help="Let running captures finish")] = False,
) -> None:
    """Stop every start on a host, a label or all hosts, and cancel running captures."""
    if host and label:
        raise CliError(ExitCode.USAGE, "Use --host or --label, not both.")
    server = Server(find_target())
    body: Json = {"kind": "everywhere", "reason": reason, "cancel": not keep_running}
    if host:
        body |= {"kind": "host", "host_id": find_host(server, host)["id"]}
    if label:
        body |= {"kind": "label", "label": parse_label_pairs([label])}
    result = server.post("/kill-switches", body)
    print_line(
        sys.stdout,
        f"{_format_target(result)}: kill switch active. {result['canceled']} captures canceled. {result['id']}",
    )


@kill_switch.command("deactivate")
def deactivate_switch(switch: Annotated[str, typer.Argument(help="ID of the kill switch, or 'all'")]) -> None:
    """Deactivate a kill switch. Stopped captures do not resume."""
    server = Server(find_target())
    places = {item["id"]: _format_target(item) for item in server.get("/kill-switches")}
    for switch_id in list(places) if switch == "all" else [switch]:
        server.delete(f"/kill-switches/{switch_id}")
        print_line(sys.stdout, f"{places.get(switch_id, switch_id)}: deactivated.")


@kill_switch.command("list")
def list_switches(as_json: AsJson = False) -> None:
    """List active kill switches."""
    result = Server(find_target()).get("/kill-switches")
    if as_json:
        print_json(result)
        return
    rows = [
        [
            item["id"],
            _format_target(item),
            item["reason"] or "-",
            item["activated_by"]["name"] if item["activated_by"] else "-",
        ]
        for item in result
    ]
    print_table(["id", "where", "reason", "by"], rows)


def _format_target(item: Json) -> str:
    if item["host"]:
        return str(item["host"]["name"])
    if item["label"]:
        return ", ".join(f"{name}={value}" for name, value in item["label"].items())
    return str(item["kind"])
