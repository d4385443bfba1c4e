"""culprit playbook list|check|try"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from culprit.cli.connection import Exit, Server, Stop, find_target, sentence
from culprit.cli.terminal import AsJson, print_json, say_to, table

app = typer.Typer(no_args_is_help=True)
MARKS = {"supports": "+", "refutes": "-", "inconclusive": "?", "not_collected": " "}


@app.command("list")
def list_playbooks(as_json: AsJson = False) -> None:
    """The catalogue: cases, methods, snippets and cards."""
    found = Server(find_target()).get("/playbooks")
    if as_json:
        print_json(found)
        return
    rows = [[one["id"], one["kind"], str(one["steps"] or "-"), one["title"]["en"]] for one in found]
    table(["id", "kind", "steps", "title"], rows)


@app.command()
def check(
    files: Annotated[list[Path], typer.Argument(help="Playbooks as YAML", exists=True, dir_okay=False)],
) -> None:
    """Look whether playbooks of one's own are sound: names, ways, and steps that nobody reaches."""
    server = Server(find_target())
    bad = 0
    for path in files:
        problems = server.post("/playbooks/check", {"text": path.read_text("utf-8")})["problems"]
        bad += len(problems)
        for one in problems:
            where = f"{one['where']}: " if one["where"] else ""
            say_to(sys.stdout, f"{path}: {where}{sentence(one['what'])}")
        if not problems:
            say_to(sys.stdout, f"{path}: sound")
    if bad:
        raise Stop(Exit.REFUSED, f"{bad} mistake{'s' if bad > 1 else ''}.")


@app.command("try")
def try_playbook(
    playbook: Annotated[str, typer.Argument(help="Its id")],
    run: Annotated[str, typer.Argument(help="Id of a run")],
    as_json: AsJson = False,
) -> None:
    """Walk a playbook over what a run brought home: verdicts, gaps, and what would tell most."""
    server = Server(find_target())
    chain = server.get(f"/playbooks/{playbook}/chain", run_id=run)
    if as_json:
        print_json(chain)
        return
    steps = {one["id"]: one for one in server.get(f"/playbooks/{playbook}")["steps"]}
    answers = {one["step"]: one for one in chain["answers"]}
    for name in chain["path"]:
        _print_step(steps[name], answers[name])
    if chain["leads_to"]:
        say_to(sys.stdout, f"It leads on to '{chain['leads_to']}'.")
    if chain["next"]:
        wanted = ", ".join(chain["next"]["collectors"]) or "a person"
        say_to(sys.stdout, f"Next: {chain['next']['step']} ({wanted}). {sentence(chain['next']['why'])}")


def _print_step(step: dict[str, Any], answer: dict[str, Any]) -> None:
    verdict = answer["verdict"].replace("_", " ")
    say_to(sys.stdout, f"[{MARKS[answer['verdict']]}] {step['asks']['en']}  {verdict}: {step['about']}")
    if answer["reason"]:
        say_to(sys.stdout, f"      {sentence(answer['reason'])}")
