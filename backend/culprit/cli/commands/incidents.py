"""culprit incident list|new|show|step|verdict|fix|verify|waive|aside|state; `carried` adds export and import"""

from __future__ import annotations

import sys
from typing import Annotated, Any
from uuid import UUID, uuid4

import typer

from culprit.cli.captures import options_of
from culprit.cli.connection import Exit, Server, Stop, find_target, sentence
from culprit.cli.hosts import find_host
from culprit.cli.terminal import AsJson, print_json, say_to, table
from culprit.kit.sort_key import encode

app = typer.Typer(no_args_is_help=True)
MARKS = {"supports": "+", "refutes": "-", "inconclusive": "?", "not_collected": " "}
PLAYS = {"refuted": "ruled out", "aside": "set aside"}
Json = dict[str, Any]
Which = Annotated[str, typer.Argument(help="Number or id of the incident")]


@app.command("list")
def list_incidents(
    state: Annotated[list[str] | None, typer.Option(help="Only in this state; may be repeated")] = None,
    as_json: AsJson = False,
) -> None:
    """Incidents, the newest first."""
    found = Server(find_target()).get("/incidents", state=state, limit=200)["items"]
    if as_json:
        print_json(found)
        return
    rows = [
        [f"#{one['number']}", one["state"], one["severity"], one["title"], ", ".join(one["hosts"][:3])]
        for one in found
    ]
    table(["number", "state", "sev", "title", "hosts"], rows)


@app.command()
def new(  # noqa: PLR0917
    title: Annotated[str, typer.Argument(help="What is going on")],
    host: Annotated[list[str] | None, typer.Option(help="A host by name or id; may be repeated")] = None,
    playbook: Annotated[list[str] | None, typer.Option(help="A playbook to go by; may be repeated")] = None,
    run: Annotated[list[str] | None, typer.Option(help="A run to look at; may be repeated")] = None,
    diagnosis: Annotated[str | None, typer.Option(help="Id of the diagnosis that it comes from")] = None,
    severity: Annotated[int, typer.Option(min=1, max=4)] = 3,
    as_json: AsJson = False,
) -> None:
    """Open an incident."""
    server = Server(find_target())
    body: Json = {
        "title": title,
        "severity": severity,
        "hosts": [{"host_id": find_host(server, name)["id"]} for name in host or []],
        "playbooks": playbook or [],
        "run_ids": run or [],
        "diagnosis_id": diagnosis,
    }
    _tell(server.post("/incidents", body, **{"Idempotency-Key": str(uuid4())}), as_json=as_json)


@app.command()
def show(incident: Which, as_json: AsJson = False) -> None:
    """The chain: steps with their verdicts, what is missing, and what to do next."""
    _tell(find_incident(Server(find_target()), incident), as_json=as_json)


@app.command()
def step(
    incident: Which,
    key: Annotated[str | None, typer.Argument(help="playbook/step; the proposed one when left out")] = None,
    host: Annotated[str | None, typer.Option(help="On this host")] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="COLLECTOR.NAME=VALUE; may be repeated", metavar="OPTION")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Collect what a step needs; what the incident knows of where to look need not be said."""
    server = Server(find_target())
    now = find_incident(server, incident)
    proposed = now["next"] or {}
    wanted = key or proposed.get("step")
    host_id = find_host(server, host)["id"] if host else proposed.get("host_id")
    if not wanted or not host_id:
        raise Stop(Exit.USAGE, "Nothing is proposed: name a step and --host.")
    told = options_of(option or [])
    _tell(_post(server, now, "step", step=wanted, host_id=host_id, options=told), as_json=as_json)


@app.command()
def verdict(  # noqa: PLR0917
    incident: Which,
    key: Annotated[str, typer.Argument(help="playbook/step")],
    says: Annotated[str, typer.Argument(help="supports, refutes or inconclusive")],
    pin: Annotated[list[str] | None, typer.Option(help="Id of a pin that shows it; may be repeated")] = None,
    host: Annotated[str | None, typer.Option(help="Of this host alone")] = None,
    note: Annotated[str, typer.Option(help="Why")] = "",
    as_json: AsJson = False,
) -> None:
    """Say what a step shows."""
    server = Server(find_target())
    host_id = find_host(server, host)["id"] if host else None
    now = find_incident(server, incident)
    body = {"step": key, "verdict": says, "pins": pin or [], "host_id": host_id, "note": note}
    _tell(_post(server, now, "verdicts", **body), as_json=as_json)


@app.command()
def fix(  # noqa: PLR0917
    incident: Which,
    what: Annotated[str, typer.Argument(help="What is changed, or with --applied the id of the fix")],
    applied: Annotated[bool, typer.Option(help="It was applied, just now")] = False,
    hypothesis: Annotated[str | None, typer.Option(help="playbook/hypothesis that it is against")] = None,
    card: Annotated[str, typer.Option(help="playbook/card that it follows")] = "",
    command: Annotated[str, typer.Option(help="What was run")] = "",
    risk: Annotated[str, typer.Option()] = "",
    back: Annotated[str, typer.Option(help="The way back")] = "",
    as_json: AsJson = False,
) -> None:
    """Write down a fix, or that it was applied."""
    server = Server(find_target())
    now = find_incident(server, incident)
    if applied:
        body = {"version": now["version"], "state": "applied"}
        _tell(server.patch(f"/incidents/{now['id']}/fixes/{what}", body), as_json=as_json)
        return
    about = next((one["id"] for one in now["hypotheses"] if one["key"] == hypothesis), None)
    if hypothesis and about is None:
        raise Stop(Exit.REFUSED, f"The incident has no hypothesis '{hypothesis}'.")
    texts = {"what": what, "card": card, "command": command, "risk": risk, "way_back": back}
    _tell(_post(server, now, "fixes", hypothesis_id=about, **texts), as_json=as_json)


@app.command()
def verify(
    incident: Which,
    fix_id: Annotated[str, typer.Argument(metavar="FIX", help="Id of the fix")],
    control: Annotated[str | None, typer.Option(help="A host that was not changed")] = None,
    bar: Annotated[float | None, typer.Option(help="The change that counts, as a share: 0.2")] = None,
    as_json: AsJson = False,
) -> None:
    """Ask whether a fix helped."""
    server = Server(find_target())
    host_id = find_host(server, control)["id"] if control else None
    now = find_incident(server, incident)
    kind = "control" if control else "plain"
    wanted = {"kind": kind, "control_host_id": host_id, "bar": bar}
    _tell(_post(server, now, f"fixes/{fix_id}/verify", **wanted), as_json=as_json)


@app.command()
def waive(
    incident: Which,
    steps: Annotated[list[str], typer.Argument(help="playbook/step; several of one playbook")],
    reason: Annotated[str, typer.Option(help="Why they need not be answered")],
    as_json: AsJson = False,
) -> None:
    """Leave steps of one playbook unanswered, for one reason."""
    server = Server(find_target())
    now = find_incident(server, incident)
    _tell(_post(server, now, "waivers", steps=steps, reason=reason), as_json=as_json)


@app.command()
def aside(
    incident: Which,
    playbook: Annotated[str, typer.Argument(help="Id of a playbook of the incident")],
    reason: Annotated[str, typer.Option(help="Why it is of no use here")] = "",
    back: Annotated[bool, typer.Option(help="Take it up again")] = False,
    as_json: AsJson = False,
) -> None:
    """Set a playbook aside with all that it still asks, or take it up again."""
    server = Server(find_target())
    now = find_incident(server, incident)
    body = {"version": now["version"], "aside": not back, "reason": reason}
    _tell(server.patch(f"/incidents/{now['id']}/playbooks/{playbook}", body), as_json=as_json)


@app.command()
def state(
    incident: Which,
    to: Annotated[str, typer.Argument(help="open, investigating, identified, mitigated or resolved")],
    reason: Annotated[str, typer.Option(help="Why it goes back")] = "",
    as_json: AsJson = False,
) -> None:
    """Take an incident one state on, or back to an earlier one with a reason."""
    server = Server(find_target())
    now = find_incident(server, incident)
    body = {"version": now["version"], "state": to, "reason": reason}
    _tell(server.patch(f"/incidents/{now['id']}", body), as_json=as_json)


def find_incident(server: Server, wanted: str) -> Json:
    """An incident by number or id. Raises Stop."""
    number = wanted.removeprefix("#")
    if number.isascii() and number.isdigit() and len(number) < 18:
        listed = server.get("/incidents", limit=1, cursor=encode(int(number) + 1))["items"]
        if listed and listed[0]["number"] == int(number):
            return dict(server.get(f"/incidents/{listed[0]['id']}"))
        raise Stop(Exit.REFUSED, f"There is no incident #{number}.")
    try:
        return dict(server.get(f"/incidents/{UUID(wanted)}"))
    except ValueError:
        raise Stop(Exit.USAGE, f"'{wanted}' is neither a number nor an id.") from None


def _post(server: Server, now: Json, what: str, /, **body: Any) -> Json:
    """A change to the incident as it was just read."""
    sent = {"version": now["version"], **body}
    return dict(server.post(f"/incidents/{now['id']}/{what}", sent, **{"Idempotency-Key": str(uuid4())}))


def _tell(now: Json, *, as_json: bool) -> None:
    if as_json:
        print_json(now)
        return
    say_to(sys.stdout, f"#{now['number']} {now['title']}: {now['state']}, severity {now['severity']}")
    names = {one["id"]: one["name"] for one in now["hosts"]}
    for one in now["playbooks"]:
        if one["play"] != "asked":
            why = f": {one['aside']['reason']}" if one["play"] == "aside" else ""
            say_to(sys.stdout, f"{one['id']} is {PLAYS[one['play']]}{why}")
    for one in now["hypotheses"]:
        say_to(sys.stdout, f"{one['key']}: {one['says']['en']}  {one['standing']}, {one['state']}")
    for one in now["steps"]:
        if one["on_path"]:
            verdict_ = one["verdict"].replace("_", " ")
            waived = " (waived)" if one["waived"] else ""
            say_to(
                sys.stdout, f"[{MARKS[one['verdict']]}] {one['key']}  {one['asks']['en']}  {verdict_}{waived}"
            )
    for one in now["fixes"]:
        say_to(sys.stdout, f"fix {one['id']}: {one['what']}  {one['state']}")
    proposed = now["next"]
    if proposed:
        wanted = ", ".join(proposed["collectors"]) or "a person"
        where = names.get(proposed["host_id"], proposed["host_id"])
        say_to(sys.stdout, f"Next: {proposed['step']} on {where} ({wanted}). {sentence(proposed['why'])}")
