"""culprit trigger list|new|test|remove|alerts, culprit kill-switch on|off|list"""

from __future__ import annotations

import shlex
import sys
from typing import Annotated, Any
from uuid import uuid4

import typer

from culprit.cli.connection import Exit, Server, Stop, find_target, sentence
from culprit.cli.hosts import find_host
from culprit.cli.terminal import AsJson, print_json, say_to, table

app = typer.Typer(no_args_is_help=True)
Json = dict[str, Any]
Label = Annotated[list[str] | None, typer.Option(help="name=value; may be repeated")]
#: What each kind of sender sends, at its smallest: to try an endpoint by hand.
EXAMPLES = {
    "generic": '{"title": "p99 above 2 s", "host": "feed-7"}',
    "alertmanager": '{"version": "4", "alerts": [{"status": "firing", "labels":'
    ' {"alertname": "HighLatency", "instance": "feed-7:9100"}}]}',
    "grafana": '{"alerts": [{"status": "firing", "labels": {"alertname": "HighLatency", "host": "feed-7"}}]}',
    "pagerduty": '{"event": {"event_type": "incident.triggered", "data":'
    ' {"id": "Q1", "title": "p99 above 2 s", "body": {"details": {"host": "feed-7"}}}}}',
}


@app.command("list")
def list_triggers(as_json: AsJson = False) -> None:
    """Endpoints to which other systems send alerts, and what came of these in the last 24 hours."""
    found = Server(find_target()).get("/triggers", limit=200)["items"]
    if as_json:
        print_json(found)
        return
    rows = [
        [
            one["name"],
            one["kind"],
            one["proof"],
            "on" if one["enabled"] else "off",
            one["heard"],
            _counts(one),
        ]
        for one in found
    ]
    table(["name", "kind", "proof", "state", "heard", "alerts of 24 h"], rows)


def _counts(one: Json) -> str:
    return ", ".join(f"{count} {state}" for state, count in sorted(one["alerts"].items())) or "-"


@app.command()
def new(  # noqa: PLR0917
    name: Annotated[str, typer.Argument(help="What it is called")],
    kind: Annotated[str, typer.Option(help="alertmanager, grafana, pagerduty or generic")] = "generic",
    proof: Annotated[str, typer.Option(help="token or hmac")] = "token",
    secret: Annotated[
        str | None, typer.Option(help="The sender's own secret, for hmac", envvar="CULPRIT_TRIGGER_SECRET")
    ] = None,
    channel: Annotated[list[str] | None, typer.Option(help="Told of causes; may be repeated")] = None,
    peers: Annotated[int, typer.Option(min=0, max=5, help="Healthy hosts captured along")] = 2,
    as_json: AsJson = False,
) -> None:
    """Make an endpoint; its token or secret is printed once."""
    server = Server(find_target())
    body: Json = {"name": name, "kind": kind, "proof": proof, "options": {"peers": peers}}
    body["channel_ids"] = [find_channel(server, one)["id"] for one in channel or []]
    if secret:
        body["secret"] = secret
    made = server.post("/triggers", body, **{"Idempotency-Key": str(uuid4())})
    if as_json:
        print_json(made)
        return
    url = server.target.url + made["path"]
    say_to(sys.stdout, f"{made['name']}: {url}")
    say_to(sys.stdout, f"secret (shown once): {made['secret']}")
    if proof == "token":
        example = shlex.quote(EXAMPLES[kind])
        say_to(sys.stdout, f"curl -H 'Authorization: Bearer {made['secret']}' -d {example} {url}")


@app.command()
def test(
    name: Annotated[str, typer.Argument(help="Name or id of the trigger")],
    label: Label = None,
    as_json: AsJson = False,
) -> None:
    """Say what would become of an alert with these labels. Nothing is started."""
    server = Server(find_target())
    one = _find(server, name)
    found = server.post(f"/triggers/{one['id']}/test", {"labels": labels_of(label)})
    if as_json:
        print_json(found)
        return
    where = found["host"]["name"] if found["host"] else "no host"
    say_to(sys.stdout, f"{found['state']}: {where} {found['service']}".rstrip())
    if found["reason"]:
        say_to(sys.stdout, sentence(found["reason"]))
    if found["peers"]:
        say_to(sys.stdout, "with " + ", ".join(each["name"] for each in found["peers"]))


@app.command()
def remove(name: Annotated[str, typer.Argument(help="Name or id of the trigger")]) -> None:
    """Forget a trigger and its alerts; incidents and captures stay."""
    server = Server(find_target())
    server.delete(f"/triggers/{_find(server, name)['id']}")


@app.command()
def alerts(
    state: Annotated[str | None, typer.Option(help="fired, joined, held, refused or unmatched")] = None,
    as_json: AsJson = False,
) -> None:
    """Alerts that were received, the newest first, with what became of them."""
    found = Server(find_target()).get("/alerts", state=state, limit=100)["items"]
    if as_json:
        print_json(found)
        return
    rows = [
        [
            f"#{one['number']}",
            one["state"],
            one["count"],
            one["title"],
            one["host"]["name"] if one["host"] else "-",
            f"#{one['incident_number']}" if one["incident_number"] else "-",
            sentence(one["reason"]) if one["reason"] else "",
        ]
        for one in found
    ]
    table(["number", "state", "sent", "alert", "host", "incident", "why"], rows)


def _find(server: Server, wanted: str) -> Json:
    for one in server.get("/triggers", limit=200)["items"]:
        if wanted in {one["name"], one["id"]}:
            return dict(one)
    raise Stop(Exit.REFUSED, f"There is no trigger '{wanted}'; see './culprit trigger list'.")


def find_channel(server: Server, wanted: str) -> Json:
    """A channel by name or id. Raises Stop."""
    for one in server.get("/channels", limit=200)["items"]:
        if wanted in {one["name"], one["id"]}:
            return dict(one)
    raise Stop(Exit.REFUSED, f"There is no channel '{wanted}'; see './culprit channel list'.")


def labels_of(given: list[str] | None) -> dict[str, str]:
    """name=value pairs. Raises Stop."""
    found = {}
    for one in given or []:
        name, sign, value = one.partition("=")
        if not sign or not name:
            raise Stop(Exit.USAGE, f"'{one}' is no name=value.")
        found[name] = value
    return found


kill_switch = typer.Typer(no_args_is_help=True)


@kill_switch.command("on")
def pull(
    host: Annotated[str | None, typer.Option(help="Only on this host")] = None,
    label: Annotated[str | None, typer.Option(help="Only on hosts with this label: name=value")] = None,
    reason: Annotated[str, typer.Option(help="Why")] = "",
    keep_running: Annotated[
        bool, typer.Option("--keep-running", help="Let what runs come to its end")
    ] = False,
) -> None:
    """Nothing starts any more: everywhere, or where it is said. What runs is called off."""
    if host and label:
        raise Stop(Exit.USAGE, "Name a host or a label, not both.")
    server = Server(find_target())
    body: Json = {"kind": "everywhere", "reason": reason, "cancel": not keep_running}
    if host:
        body |= {"kind": "host", "host_id": find_host(server, host)["id"]}
    if label:
        body |= {"kind": "label", "label": labels_of([label])}
    made = server.post("/kill-switches", body)
    say_to(
        sys.stdout, f"{_place(made)}: nothing starts. {made['cancelled']} captures called off. {made['id']}"
    )


@kill_switch.command("off")
def lift(switch: Annotated[str, typer.Argument(help="Its id, or 'all'")]) -> None:
    """Captures may start again; what was stopped stays stopped."""
    server = Server(find_target())
    held = server.get("/kill-switches")
    wanted = [one["id"] for one in held] if switch == "all" else [switch]
    for one in wanted:
        say_to(sys.stdout, f"{_place(server.post(f'/kill-switches/{one}/lift', {}))}: lifted.")


@kill_switch.command("list")
def list_switches(as_json: AsJson = False) -> None:
    """Where nothing may start now."""
    found = Server(find_target()).get("/kill-switches")
    if as_json:
        print_json(found)
        return
    rows = [
        [one["id"], _place(one), one["reason"] or "-", one["pulled_by"]["name"] if one["pulled_by"] else "-"]
        for one in found
    ]
    table(["id", "where", "reason", "by"], rows)


def _place(one: Json) -> str:
    if one["host"]:
        return str(one["host"]["name"])
    if one["label"]:
        return ", ".join(f"{name}={value}" for name, value in one["label"].items())
    return str(one["kind"])
