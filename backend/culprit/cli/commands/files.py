"""culprit capture import, capture script; culprit profile export"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from culprit.cli import shapes
from culprit.cli.commands import captures
from culprit.cli.commands.captures import find_run, wait_for_capture, wait_until_built
from culprit.cli.commands.hosts import find_host
from culprit.cli.connection import CliError, ExitCode, Server, fetch_text, find_target, render_message
from culprit.cli.terminal import AsJson, print_json, print_line

PROFILE_S = 300.0  # for a profile that is being built


class Kind(StrEnum):
    """The kinds of files that can be imported."""

    AUTO = "auto"
    PERF_DATA = "perf_data"
    PERF_SCRIPT = "perf_script"
    FOLDED = "folded"
    PPROF = "pprof"
    SPEEDSCOPE = "speedscope"
    CHROME_TRACE = "chrome_trace"
    CPUPROFILE = "cpuprofile"
    FIREFOX = "firefox"
    BPFTRACE = "bpftrace"
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
    """The formats of an exported profile."""

    FOLDED = "folded"
    SVG = "svg"
    SPEEDSCOPE = "speedscope"
    PPROF = "pprof"
    FIREFOX = "firefox"
    CHROME_TRACE = "chrome_trace"
    PERF_SCRIPT = "perf_script"
    RAW = "raw"


profile_app = typer.Typer(no_args_is_help=True)


def register_commands(root: typer.Typer) -> None:
    """Add the command group `profile`, and `import` and `script` to the commands of captures."""
    root.add_typer(profile_app, name="profile", help="Profiles of runs.")
    captures.app.command("import")(import_file)
    captures.app.command("script")(print_script)


def import_file(  # noqa: PLR0917
    file: Annotated[
        Path, typer.Argument(help="A perf recording, a profile, a bundle, traces or a load test report")
    ],
    kind: Annotated[Kind, typer.Option(help="Kind of the file")] = Kind.AUTO,
    host: Annotated[str | None, typer.Option(help="Name of the host where it was recorded")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the import")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the file has been read")] = False,
    timeout: Annotated[float | None, typer.Option(help="With --wait: seconds, then exit status 9")] = None,
    as_json: AsJson = False,
) -> None:
    """Import a file as a run."""
    if not file.is_file():
        raise CliError(ExitCode.USAGE, f"{file}: file not found.")
    server = Server(find_target())
    fields = {"kind": kind.value}
    if host is not None:
        fields["host_id"] = find_host(server, host)["id"]
    if name is not None:
        fields["name"] = name
    result = server.upload("/imports", file, fields)
    read = server.get(f"/captures/{result['id']}")
    if wait:
        read = wait_for_capture(server, read, timeout)
    if as_json:
        print_json(shapes.shape_capture(read))
    else:
        runs = ", ".join(run["id"] for run in read["runs"])
        print_line(sys.stdout, f"{file.name} is capture {read['number']}, run {runs}: {read['state']}")
    if read["state"] in shapes.STATUS:
        raise typer.Exit(shapes.STATUS[read["state"]])
    if wait:
        _wait_for_profiles(server, read["runs"], timeout)


def _wait_for_profiles(server: Server, runs: list[dict[str, Any]], timeout: float | None) -> None:
    """Wait until the profiles of the imported file are built. Raises CliError if one cannot be read."""
    for run in runs:
        whole = wait_until_built(server, dict(server.get(f"/runs/{run['id']}")), timeout or PROFILE_S)
        for profile in whole["profiles"]:
            if profile["state"] == "failed":
                raise CliError(
                    ExitCode.FAILED, render_message(profile["failure"]) or "The profile cannot be read."
                )


@profile_app.command("export")
def export_profile(
    run: Annotated[str, typer.Argument(help="ID of a run")],
    format_: Annotated[Export, typer.Option("--format", help="Output format")] = Export.FOLDED,
    profile: Annotated[str | None, typer.Option(help="Kind of profile, for example on_cpu")] = None,
    event: Annotated[str | None, typer.Option(help="Event of the profile, for example alloc_space")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write")] = None,
) -> None:
    """Write a profile of a run for other tools, as an SVG image, or as the raw recording."""
    server = Server(find_target())
    profiles = [
        item
        for item in find_run(server, run)["profiles"]
        if profile in {None, item["kind"]} and event in {None, item["event"]}
    ]
    if len(profiles) != 1:
        kinds = ", ".join(f"{item['kind']} {item['event']}".strip() for item in profiles) or "none"
        raise CliError(
            ExitCode.REFUSED,
            f"The run has {len(profiles)} such profiles ({kinds}). Choose one with --profile and --event.",
        )
    with server.stream(f"/profiles/{profiles[0]['id']}/export", format=format_.value) as pieces:
        if output is None:
            _copy_pieces(pieces, sys.stdout.buffer)
            return
        with output.open("wb") as file:
            _copy_pieces(pieces, file)
    print_line(sys.stderr, f"Written to {output}.")


def print_script(
    push: Annotated[
        str | None, typer.Option(help="Upload address that the script sends its output to")
    ] = None,
    plan: Annotated[str, typer.Option(help="triage, cpu, sched, io, network or baseline")] = "triage",
    seconds: Annotated[int | None, typer.Option(help="Instead of the plan's own duration")] = None,
) -> None:
    """Print a capture script for a host that Culprit cannot reach. Run it there and import its output.

    culprit capture script > culprit-capture.sh; sh culprit-capture.sh > host.bundle; culprit capture import host.bundle

    With --push, the script uploads its output. Its plan is that of the upload address:

    culprit capture script --push URL > culprit-push.sh; sh culprit-push.sh
    """
    if push is not None:
        text = fetch_text(push)
        if not text.startswith("#!/bin/sh"):
            raise CliError(
                ExitCode.REFUSED,
                "The URL is not an upload address of Culprit. Create one with './culprit upload create'.",
            )
        sys.stdout.write(text)
        return
    with Server(find_target()).stream("/catalog/capture-script", plan=plan, seconds=seconds) as pieces:
        _copy_pieces(pieces, sys.stdout.buffer)


def _copy_pieces(pieces: Iterator[bytes], file: BinaryIO) -> None:
    for piece in pieces:
        file.write(piece)
    file.flush()
