"""Commands of `culprit playbook`: list, check, dry-run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from culprit.cli.connection import CliError, ExitCode, Server, find_target, render_message
from culprit.cli.terminal import AsJson, print_json, print_line, print_table

app = typer.Typer(no_args_is_help=True)
MARKS = {"supports": "+", "refutes": "-", "inconclusive": "?", "not_collected": " "}


def register_commands(root: typer.Typer) -> None:
    """Add the command group `playbook`."""
    root.add_typer(app, name="playbook", help="Checklists from a symptom to its cause.")


@app.command("list")
def list_playbooks(as_json: AsJson = False) -> None:
    """List the playbook catalog: cases, methods, snippets and references."""
    playbooks = Server(find_target()).get("/playbooks")
    if as_json:
        print_json(playbooks)
        return
    rows = [
        [playbook["id"], playbook["kind"], str(playbook["steps"] or "-"), playbook["title"]["en"]]
        for playbook in playbooks
    ]
    print_table(["id", "kind", "steps", "title"], rows)


@app.command("check")
def check_playbooks(
    files: Annotated[list[Path], typer.Argument(help="Playbooks as YAML", exists=True, dir_okay=False)],
) -> None:
    """Validate custom playbooks: ids, branches and unreachable steps."""
    server = Server(find_target())
    error_count = 0
    for path in files:
        problems = server.post("/playbooks/check", {"text": path.read_text("utf-8")})["problems"]
        error_count += len(problems)
        for problem in problems:
            location = f"{problem['location']}: " if problem["location"] else ""
            print_line(sys.stdout, f"{path}: {location}{render_message(problem['what'])}")
        if not problems:
            print_line(sys.stdout, f"{path}: valid")
    if error_count:
        raise CliError(ExitCode.REFUSED, f"{error_count} error{'s' if error_count > 1 else ''}.")


@app.command("dry-run")
def dry_run_playbook(
    playbook: Annotated[str, typer.Argument(help="ID of the playbook")],
    run: Annotated[str, typer.Argument(help="ID of a run")],
    as_json: AsJson = False,
) -> None:
    """Evaluate a playbook on the data of a run: verdicts, gaps and the next step."""
    server = Server(find_target())
    result = server.get(f"/playbooks/{playbook}/dry-run", run_id=run)
    if as_json:
        print_json(result)
        return
    steps = {step["id"]: step for step in server.get(f"/playbooks/{playbook}")["steps"]}
    answers = {answer["step"]: answer for answer in result["answers"]}
    for name in result["path"]:
        _print_step(steps[name], answers[name])
    if result["next_playbook"]:
        print_line(sys.stdout, f"Next playbook: {result['next_playbook']}")
    if result["next"]:
        collectors = ", ".join(result["next"]["collectors"]) or "a person"
        print_line(
            sys.stdout,
            f"Next step: {result['next']['step']} ({collectors}). {render_message(result['next']['why'])}",
        )


def _print_step(step: dict[str, Any], answer: dict[str, Any]) -> None:
    verdict = answer["verdict"].replace("_", " ")
    print_line(
        sys.stdout, f"[{MARKS[answer['verdict']]}] {step['question']['en']}  {verdict}: {step['about']}"
    )
    if answer["reason"]:
        print_line(sys.stdout, f"      {render_message(answer['reason'])}")
