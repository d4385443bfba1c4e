"""Commands of incidents: list, create and show them; run and waive steps; record and verify fixes."""

from __future__ import annotations

import sys
from typing import Annotated, Any
from uuid import UUID, uuid4

import typer

from culprit.cli.commands.captures import parse_options
from culprit.cli.commands.hosts import find_host
from culprit.cli.connection import CliError, ExitCode, Server, find_target, render_message
from culprit.cli.terminal import AsJson, print_json, print_line, print_table
from culprit.json_types import Json
from culprit.web.http.page_cursor import encode_cursor

app = typer.Typer(no_args_is_help=True)
MARKS = {"supports": "+", "refutes": "-", "inconclusive": "?", "not_collected": " "}
PLAYBOOK_STATES = {"refuted": "ruled out", "dismissed": "dismissed"}
Which = Annotated[str, typer.Argument(help="Number or id of the incident")]


def register_commands(root: typer.Typer) -> None:
    """Add the command group `incident`."""
    root.add_typer(app, name="incident", help="Investigations with their evidence.")


@app.command("list")
def list_incidents(
    state: Annotated[list[str] | None, typer.Option(help="Only in this state; may be repeated")] = None,
    as_json: AsJson = False,
) -> None:
    """List incidents, the newest first."""
    items = Server(find_target()).get("/incidents", state=state, limit=200)["items"]
    if as_json:
        print_json(items)
        return
    rows = [
        [f"#{item['number']}", item["state"], item["severity"], item["title"], ", ".join(item["hosts"][:3])]
        for item in items
    ]
    print_table(["number", "state", "sev", "title", "hosts"], rows)


@app.command("create")
def create_incident(  # noqa: PLR0917
    title: Annotated[str, typer.Argument(help="Title")],
    host: Annotated[list[str] | None, typer.Option(help="A host by name or id; may be repeated")] = None,
    playbook: Annotated[list[str] | None, typer.Option(help="A playbook to attach; may be repeated")] = None,
    run: Annotated[list[str] | None, typer.Option(help="A run to add; may be repeated")] = None,
    diagnosis: Annotated[str | None, typer.Option(help="ID of a diagnosis to start from")] = None,
    severity: Annotated[int, typer.Option(min=1, max=4)] = 3,
    as_json: AsJson = False,
) -> None:
    """Create an incident."""
    server = Server(find_target())
    body: Json = {
        "title": title,
        "severity": severity,
        "hosts": [{"host_id": find_host(server, name)["id"]} for name in host or []],
        "playbooks": playbook or [],
        "run_ids": run or [],
        "diagnosis_id": diagnosis,
    }
    _print_incident(server.post("/incidents", body, **{"Idempotency-Key": str(uuid4())}), as_json=as_json)


@app.command("show")
def show_incident(incident: Which, as_json: AsJson = False) -> None:
    """Show an incident: steps with their verdicts, fixes and the next step."""
    _print_incident(find_incident(Server(find_target()), incident), as_json=as_json)


@app.command("run-step")
def run_step(
    incident: Which,
    key: Annotated[str | None, typer.Argument(help="playbook/step; default: the proposed step")] = None,
    host: Annotated[str | None, typer.Option(help="On this host")] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="COLLECTOR.NAME=VALUE; may be repeated", metavar="OPTION")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run the capture of a step. Options that the incident knows are filled automatically."""
    server = Server(find_target())
    now = find_incident(server, incident)
    proposed = now["next"] or {}
    step_key = key or proposed.get("step")
    host_id = find_host(server, host)["id"] if host else proposed.get("host_id")
    if not step_key or not host_id:
        raise CliError(ExitCode.USAGE, "No step is proposed. Enter a step and --host.")
    options = parse_options(option or [])
    _print_incident(
        _post(server, now, "step-runs", step=step_key, host_id=host_id, options=options), as_json=as_json
    )


@app.command("verdict")
def add_verdict(  # noqa: PLR0917
    incident: Which,
    key: Annotated[str, typer.Argument(help="playbook/step")],
    value: Annotated[str, typer.Argument(help="supports, refutes or inconclusive")],
    pin: Annotated[list[str] | None, typer.Option(help="ID of a pin as evidence; may be repeated")] = None,
    host: Annotated[str | None, typer.Option(help="Only for this host")] = None,
    note: Annotated[str, typer.Option(help="Why")] = "",
    as_json: AsJson = False,
) -> None:
    """Give a verdict for a step."""
    server = Server(find_target())
    host_id = find_host(server, host)["id"] if host else None
    now = find_incident(server, incident)
    body = {"step": key, "verdict": value, "pins": pin or [], "host_id": host_id, "note": note}
    _print_incident(_post(server, now, "verdicts", **body), as_json=as_json)


@app.command("fix")
def record_fix(  # noqa: PLR0917
    incident: Which,
    what: Annotated[
        str, typer.Argument(help="Description of the change, or with --applied the ID of the fix")
    ],
    applied: Annotated[bool, typer.Option(help="Mark the fix as applied now")] = False,
    hypothesis: Annotated[str | None, typer.Option(help="playbook/hypothesis that it addresses")] = None,
    remediation: Annotated[str, typer.Option(help="playbook/remediation that it follows")] = "",
    command: Annotated[str, typer.Option(help="Command of the change")] = "",
    risk: Annotated[str, typer.Option(help="Risk of the change")] = "",
    rollback: Annotated[str, typer.Option(help="How to undo the change")] = "",
    as_json: AsJson = False,
) -> None:
    """Record a fix, or mark it as applied."""
    server = Server(find_target())
    now = find_incident(server, incident)
    if applied:
        body = {"version": now["version"], "state": "applied"}
        _print_incident(server.patch(f"/incidents/{now['id']}/fixes/{what}", body), as_json=as_json)
        return
    about = next((item["id"] for item in now["hypotheses"] if item["key"] == hypothesis), None)
    if hypothesis and about is None:
        raise CliError(ExitCode.REFUSED, f"The incident has no hypothesis '{hypothesis}'.")
    texts = {"what": what, "remediation": remediation, "command": command, "risk": risk, "rollback": rollback}
    _print_incident(_post(server, now, "fixes", hypothesis_id=about, **texts), as_json=as_json)


@app.command("verify")
def verify_fix(
    incident: Which,
    fix_id: Annotated[str, typer.Argument(metavar="FIX", help="ID of the fix")],
    control: Annotated[str | None, typer.Option(help="Control host")] = None,
    minimum_change: Annotated[
        float | None, typer.Option(help="Smallest relevant change, as a share: 0.2")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify a fix."""
    server = Server(find_target())
    host_id = find_host(server, control)["id"] if control else None
    now = find_incident(server, incident)
    kind = "control" if control else "plain"
    requested = {"kind": kind, "control_host_id": host_id, "minimum_change": minimum_change}
    _print_incident(_post(server, now, f"fixes/{fix_id}/verify", **requested), as_json=as_json)


@app.command("waive-step")
def waive_steps(
    incident: Which,
    steps: Annotated[list[str], typer.Argument(help="playbook/step; several of one playbook")],
    reason: Annotated[str, typer.Option(help="Why the steps can stay open")],
    as_json: AsJson = False,
) -> None:
    """Waive steps of one playbook with a reason."""
    server = Server(find_target())
    now = find_incident(server, incident)
    _print_incident(_post(server, now, "waivers", steps=steps, reason=reason), as_json=as_json)


@app.command("dismiss-playbook")
def dismiss_playbook(
    incident: Which,
    playbook: Annotated[str, typer.Argument(help="ID of a playbook of the incident")],
    reason: Annotated[str, typer.Option(help="Why the playbook does not apply")],
    as_json: AsJson = False,
) -> None:
    """Dismiss a playbook with all its open steps."""
    _change_playbook(incident, playbook, {"dismissed": True, "reason": reason}, as_json=as_json)


@app.command("restore-playbook")
def restore_playbook(
    incident: Which,
    playbook: Annotated[str, typer.Argument(help="ID of a dismissed playbook")],
    as_json: AsJson = False,
) -> None:
    """Restore a dismissed playbook."""
    _change_playbook(incident, playbook, {"dismissed": False}, as_json=as_json)


def _change_playbook(incident: str, playbook: str, body: Json, *, as_json: bool) -> None:
    server = Server(find_target())
    now = find_incident(server, incident)
    body = {"version": now["version"], **body}
    _print_incident(server.patch(f"/incidents/{now['id']}/playbooks/{playbook}", body), as_json=as_json)


@app.command("state")
def change_state(
    incident: Which,
    to: Annotated[str, typer.Argument(help="open, investigating, identified, mitigated or resolved")],
    reason: Annotated[str, typer.Option(help="Why the incident returns to an earlier state")] = "",
    as_json: AsJson = False,
) -> None:
    """Move an incident to its next state, or back to an earlier one with a reason."""
    server = Server(find_target())
    now = find_incident(server, incident)
    body = {"version": now["version"], "state": to, "reason": reason}
    _print_incident(server.patch(f"/incidents/{now['id']}", body), as_json=as_json)


def find_incident(server: Server, requested: str) -> Json:
    """Return an incident by number or ID, or raise CliError."""
    number = requested.removeprefix("#")
    if number.isascii() and number.isdigit() and len(number) < 18:
        listed = server.get("/incidents", limit=1, cursor=encode_cursor(int(number) + 1))["items"]
        if listed and listed[0]["number"] == int(number):
            return dict(server.get(f"/incidents/{listed[0]['id']}"))
        raise CliError(ExitCode.REFUSED, f"Incident #{number} not found.")
    try:
        return dict(server.get(f"/incidents/{UUID(requested)}"))
    except ValueError:
        raise CliError(ExitCode.USAGE, f"'{requested}' is neither a number nor an id.") from None


def _post(server: Server, now: Json, what: str, /, **body: Any) -> Json:
    """Post a change based on the loaded version."""
    sent = {"version": now["version"], **body}
    return dict(server.post(f"/incidents/{now['id']}/{what}", sent, **{"Idempotency-Key": str(uuid4())}))


def _print_incident(now: Json, *, as_json: bool) -> None:
    if as_json:
        print_json(now)
        return
    print_line(sys.stdout, f"#{now['number']} {now['title']}: {now['state']}, severity {now['severity']}")
    names = {host["id"]: host["name"] for host in now["hosts"]}
    for playbook in now["playbooks"]:
        if playbook["state"] != "active":
            why = f": {playbook['dismissed']['reason']}" if playbook["state"] == "dismissed" else ""
            print_line(sys.stdout, f"{playbook['id']} is {PLAYBOOK_STATES[playbook['state']]}{why}")
    for hypothesis in now["hypotheses"]:
        print_line(
            sys.stdout,
            f"{hypothesis['key']}: {hypothesis['summary']['en']}  {hypothesis['status']}, {hypothesis['state']}",
        )
    for step in now["steps"]:
        if step["on_path"]:
            verdict = step["verdict"].replace("_", " ")
            waived = " (waived)" if step["waived"] else ""
            print_line(
                sys.stdout,
                f"[{MARKS[step['verdict']]}] {step['key']}  {step['question']['en']}  {verdict}{waived}",
            )
    for fix in now["fixes"]:
        print_line(sys.stdout, f"fix {fix['id']}: {fix['what']}  {fix['state']}")
    proposed = now["next"]
    if proposed:
        requested = ", ".join(proposed["collectors"]) or "a person"
        where = names.get(proposed["host_id"], proposed["host_id"])
        print_line(
            sys.stdout,
            f"Next step: {proposed['step']} on {where} ({requested}). {render_message(proposed['why'])}",
        )
