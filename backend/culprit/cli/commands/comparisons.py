"""culprit profile compare"""

from __future__ import annotations

import sys
import time
from enum import StrEnum
from typing import Annotated

import typer

from culprit.cli.commands.captures import find_run
from culprit.cli.commands.files import PROFILE_S, profile_app
from culprit.cli.connection import CliError, ExitCode, Server, find_target, render_message
from culprit.cli.terminal import AsJson, print_json, print_line, print_table
from culprit.json_types import Json

POLL_S = 0.5


class Normalization(StrEnum):
    """What weights are divided by."""

    SHARE = "share"
    CPU = "cpu"
    WALL = "wall"
    WORK = "work"


VERDICT_TEXTS = {
    "share": "share of samples, %",
    "cpu": "share of CPU time, %",
    "wall": "{unit} per second",
    "work": "{unit} per unit of work",
}


def register_commands(_root: typer.Typer) -> None:
    """Add `compare` to the commands of profiles."""
    profile_app.command("compare")(compare_profiles)


def compare_profiles(  # noqa: PLR0917
    run_a: Annotated[str, typer.Argument(help="ID of the run before, the baseline")],
    run_b: Annotated[
        str, typer.Argument(help="ID of the run after; the same run to compare two ranges of it")
    ],
    profile: Annotated[str | None, typer.Option(help="Kind of profile, for example on_cpu")] = None,
    normalize: Annotated[
        Normalization, typer.Option(help="What weights are divided by")
    ] = Normalization.SHARE,
    work_a: Annotated[
        float | None, typer.Option(help="With work: requests of A. Default: of its access log")
    ] = None,
    work_b: Annotated[
        float | None, typer.Option(help="With work: requests of B. Default: of its access log")
    ] = None,
    range_a: Annotated[str | None, typer.Option(help="Seconds of A from its start, for example 0-30")] = None,
    range_b: Annotated[
        str | None, typer.Option(help="Seconds of B from its start, for example 30-60")
    ] = None,
    process: Annotated[str | None, typer.Option(help="Only the processes with this name")] = None,
    thread: Annotated[str | None, typer.Option(help="Only the threads with this name")] = None,
    hide_idle: Annotated[bool, typer.Option("--hide-idle", help="Without idle CPUs")] = False,
    limit: Annotated[int, typer.Option(min=1, max=2000, help="Most functions to list")] = 30,
    as_json: AsJson = False,
) -> None:
    """Compare the profiles of two runs, or two ranges of one. Functions that changed by more than chance come first.

    culprit profile compare RUN RUN --range-a 0-30 --range-b 30-60
    """
    server = Server(find_target())
    chosen = {
        "comm": [process] if process else [],
        "thread": [thread] if thread else [],
        "hide_idle": hide_idle,
    }
    a, b = _find_profile(server, run_a, profile), _find_profile(server, run_b, profile)
    body = {
        "a": {"profile_id": a["id"], "filter": {**chosen, **_parse_range(a, range_a)}},
        "b": {"profile_id": b["id"], "filter": {**chosen, **_parse_range(b, range_b)}},
    }
    comparison = _wait_for_comparison(server, server.post("/comparisons", body))
    path = f"/comparisons/{comparison['id']}"
    if normalize is Normalization.WORK and (work_a is None or work_b is None):
        work = server.get(f"{path}/work")
        work_a, work_b = work_a or work["a"], work_b or work["b"]
    result = server.get(
        f"{path}/functions", normalize=normalize.value, work_a=work_a, work_b=work_b, limit=limit
    )
    if as_json:
        print_json({"comparison_id": comparison["id"], **result})
        return
    _print_changes(result)


def _find_profile(server: Server, run: str, kind: str | None) -> Json:
    profiles = [
        item
        for item in find_run(server, run)["profiles"]
        if kind in {None, item["kind"]} and item["kind"] != "sched"
    ]
    if len(profiles) != 1:
        kinds = ", ".join(item["kind"] for item in profiles) or "none"
        raise CliError(
            ExitCode.REFUSED,
            f"The run {run} has {len(profiles)} such profiles ({kinds}); choose with --profile.",
        )
    return dict(server.get(f"/profiles/{profiles[0]['id']}"))


def _parse_range(profile: Json, text: str | None) -> Json:
    """Return the times of a range in seconds from the start. Raises CliError."""
    if text is None:
        return {}
    first, dash, last = text.partition("-")
    try:
        seconds = float(first), float(last)
    except ValueError:
        seconds = (0.0, -1.0)
    if not dash or not 0 <= seconds[0] < seconds[1] < 1e9:
        raise CliError(
            ExitCode.USAGE, f"'{text}' is not a range. Use seconds from the start, for example 0-30."
        )
    if profile["t0_ns"] is None:
        raise CliError(ExitCode.REFUSED, "The profile has no times. Compare it as a whole.")
    start, stop = (profile["t0_ns"] + round(second * 1e9) for second in seconds)
    return {"from_ns": start, "to_ns": stop}


def _wait_for_comparison(server: Server, comparison: Json) -> Json:
    end = time.monotonic() + PROFILE_S
    while comparison["state"] in {"queued", "running"} and time.monotonic() < end:
        time.sleep(POLL_S)
        comparison = server.get(f"/comparisons/{comparison['id']}")
    if comparison["state"] == "failed":
        raise CliError(
            ExitCode.FAILED, render_message(comparison["failure"]) or "The profiles cannot be compared."
        )
    if comparison["state"] != "ready":
        raise CliError(ExitCode.FAILED, "The comparison is not built yet. Check that a worker is running.")
    return comparison


def _print_changes(result: Json) -> None:
    unit = "samples" if result["unit"] == "samples" else "ms"
    meaning = VERDICT_TEXTS[result["normalize"]].format(unit=unit)
    print_line(
        sys.stdout,
        f"A: {result['samples_a']} samples, B: {result['samples_b']} samples."
        f" {result['tests']} differences tested at once.",
    )
    if result["bursts"] == "assumed":
        print_line(sys.stdout, "Without times, bursts cannot be measured: a larger variance is assumed.")
    changed = [
        row for row in result["rows"] if "changed" in {row["self"]["verdict"], row["total"]["verdict"]}
    ]
    print_line(
        sys.stdout,
        f"{len(changed)} of {len(result['rows'])} listed functions changed by more than chance. Unit: {meaning}.",
    )
    scale = 100.0 if result["normalize"] in {"share", "cpu"} else 1.0 if result["unit"] == "samples" else 1e-6
    rows = []
    for row in result["rows"]:
        cells: list[object] = ["*" if row in changed else ""]
        for part in (row["self"], row["total"]):
            a, b = (part[side] / (result[f"exposure_{side}"] or 1) * scale for side in ("a", "b"))
            cells += [f"{a:.4g}", f"{b:.4g}", f"{part['delta'] * scale:+.3g}", _format_bar(part, scale)]
        rows.append((*cells, row["frame"]))
    print_table(
        ("", "SELF A", "SELF B", "CHANGE", "CHANCE", "TOTAL A", "TOTAL B", "CHANGE", "CHANCE", "FUNCTION"),
        rows,
    )


def _format_bar(part: Json, scale: float) -> str:
    return "few samples" if part["noise"] is None else f"±{part['noise'] * scale:.3g}"
