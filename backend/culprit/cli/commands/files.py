"""culprit import, export, bundle"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from culprit.cli import shapes
from culprit.cli.captures import built, find_run, follow
from culprit.cli.connection import Exit, Server, Stop, fetch_text, find_target, sentence
from culprit.cli.hosts import find_host
from culprit.cli.terminal import AsJson, print_json, say_to

PROFILE_S = 300.0  # for a profile that is being built


class Kind(StrEnum):
    """What a file may be."""

    AUTO = "auto"
    PERF_DATA = "perf_data"
    PERF_SCRIPT = "perf_script"
    FOLDED = "folded"
    BUNDLE = "bundle"
    PROMETHEUS = "prometheus"
    JAEGER = "jaeger"
    ZIPKIN = "zipkin"
    OTLP = "otlp"
    WRK = "wrk"
    VEGETA = "vegeta"
    IPERF3 = "iperf3"
    JMETER = "jmeter"


class Export(StrEnum):
    """What a profile can be written as."""

    FOLDED = "folded"
    SVG = "svg"
    SPEEDSCOPE = "speedscope"
    RAW = "raw"


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("import")(import_file)
    app.command()(export)
    app.command()(bundle)


def import_file(  # noqa: PLR0917
    file: Annotated[
        Path, typer.Argument(help="What was recorded: perf, stacks, a bundle, traces, a load test")
    ],
    kind: Annotated[Kind, typer.Option(help="What it is")] = Kind.AUTO,
    host: Annotated[str | None, typer.Option(help="Name of the host that it is from")] = None,
    name: Annotated[str | None, typer.Option(help="Name to show")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it has been read")] = False,
    timeout: Annotated[float | None, typer.Option(help="With --wait: seconds, then exit status 9")] = None,
    as_json: AsJson = False,
) -> None:
    """Read a file that was recorded without SSH; it becomes a run."""
    if not file.is_file():
        raise Stop(Exit.USAGE, f"{file}: there is no such file.")
    server = Server(find_target())
    fields = {"kind": kind.value}
    if host is not None:
        fields["host_id"] = find_host(server, host)["id"]
    if name is not None:
        fields["name"] = name
    made = server.upload("/imports", file, fields)
    read = server.get(f"/captures/{made['id']}")
    if wait:
        read = follow(server, read, timeout)
    if as_json:
        print_json(shapes.capture(read))
    else:
        runs = ", ".join(run["id"] for run in read["runs"])
        say_to(sys.stdout, f"{file.name} is capture {read['number']}, run {runs}: {read['state']}")
    if read["state"] in shapes.STATUS:
        raise typer.Exit(shapes.STATUS[read["state"]])
    if wait:
        _expect_profiles(server, read["runs"], timeout)


def _expect_profiles(server: Server, runs: list[dict[str, Any]], timeout: float | None) -> None:
    """Raises Stop where a profile of what was brought cannot be read."""
    for run in runs:
        whole = built(server, dict(server.get(f"/runs/{run['id']}")), timeout or PROFILE_S)
        for profile in whole["profiles"]:
            if profile["state"] == "failed":
                raise Stop(Exit.FAILED, sentence(profile["failure"]) or "The profile cannot be read.")


def export(
    run: Annotated[str, typer.Argument(help="Id of a run")],
    format_: Annotated[Export, typer.Option("--format", help="What to write")] = Export.FOLDED,
    profile: Annotated[str | None, typer.Option(help="Which kind of profile, as in on_cpu")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write")] = None,
) -> None:
    """Write a profile of a run as folded stacks, SVG, speedscope JSON, or the raw recording."""
    server = Server(find_target())
    found = [one for one in find_run(server, run)["profiles"] if profile in {None, one["kind"]}]
    if len(found) != 1:
        kinds = ", ".join(one["kind"] for one in found) or "none"
        raise Stop(Exit.REFUSED, f"The run has {len(found)} such profiles ({kinds}); choose with --profile.")
    with server.stream(f"/profiles/{found[0]['id']}/export", format=format_.value) as pieces:
        if output is None:
            _copy(pieces, sys.stdout.buffer)
            return
        with output.open("wb") as file:
            _copy(pieces, file)
    say_to(sys.stderr, f"Written to {output}.")


def bundle(
    push: Annotated[
        str | None, typer.Option(help="An upload address: the script then sends what it sees there by itself")
    ] = None,
    plan: Annotated[str, typer.Option(help="triage, cpu, sched, io, network or baseline")] = "triage",
    seconds: Annotated[int | None, typer.Option(help="Instead of the plan's own duration")] = None,
) -> None:
    """Print a shell script for a host that cannot be reached: run it there, bring home what it prints.

    culprit bundle > culprit-bundle.sh; sh culprit-bundle.sh > host.bundle; culprit import host.bundle

    With --push the plan is the one that the address was made for (culprit upload new --host-name NAME --plan PLAN):

    culprit bundle --push URL > culprit-push.sh; sh culprit-push.sh
    """
    if push is not None:
        text = fetch_text(push)
        if not text.startswith("#!/bin/sh"):
            raise Stop(Exit.REFUSED, "There is no upload address of Culprit.")
        sys.stdout.write(text)
        return
    with Server(find_target()).stream("/bundle", plan=plan, seconds=seconds) as pieces:
        _copy(pieces, sys.stdout.buffer)


def _copy(pieces: Iterator[bytes], file: BinaryIO) -> None:
    for piece in pieces:
        file.write(piece)
    file.flush()
