"""culprit storage show, set-retention, check"""

from __future__ import annotations

import sys
import time
from typing import Annotated

import typer

from culprit.cli.connection import CliError, ExitCode, Server, find_target
from culprit.cli.terminal import AsJson, print_json, print_line, print_table
from culprit.json_types import Json

app = typer.Typer(no_args_is_help=True)
UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
#: A worker checks ten million files within this time.
KINDS = "recordings, texts, imports, profiles, comparisons, series, tables or events"
CHECK_S = 900
POLL_S = 1.0


def register_commands(root: typer.Typer) -> None:
    """Add the command group `storage`."""
    root.add_typer(app, name="storage", help="Storage use, retention policies and consistency check.")


def format_size(count: int) -> str:
    """Return a size with three digits and a binary unit."""
    value, unit = float(count), UNITS[0]
    for unit in UNITS:
        if value < 1000 or unit == UNITS[-1]:
            break
        value /= 1024
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.3g} {unit}"


def parse_size(text: str) -> int:
    """Parse `50GiB`, `1.5 TiB` or plain bytes. Raises CliError."""
    number = text.strip()
    for power, unit in reversed(list(enumerate(UNITS))):
        if number.lower().endswith(unit.lower()):
            number, factor = number[: -len(unit)], 1024**power
            break
    else:
        factor = 1
    try:
        return int(float(number) * factor)
    except ValueError:
        raise CliError(ExitCode.USAGE, f"'{text}' is not a size. Use a form such as 50GiB.") from None


@app.command("show")
def show_storage(as_json: AsJson = False) -> None:
    """Show storage use, retention policies and the forecast of the disk."""
    reported = Server(find_target()).get("/storage")
    if as_json:
        print_json(reported)
        return
    disk, measured, forecast = reported["disk"], reported["measured"], reported["forecast"]
    print_line(sys.stdout, f"Disk: {format_size(disk['free'])} free of {format_size(disk['total'])}")
    if forecast and forecast["days"] >= 2:
        full = f"full on {forecast['full_at'][:10]}" if forecast["full_at"] else "not at the current rate"
        print_line(
            sys.stdout,
            f"Added per day: {format_size(forecast['grows_per_day'])}, deleted per day:"
            f" {format_size(forecast['removed_per_day'])} (mean of {forecast['days']} days). Disk: {full}.",
        )
    if measured is None:
        print_line(sys.stdout, "Not measured yet. The scheduler measures the storage every hour.")
    limits = {policy["kind"]: _format_limit(policy) for policy in reported["policies"]}
    kinds = (measured or {}).get("kinds", {})
    rows = [[kind, *_format_amount(kinds.get(kind)), limits[kind]] for kind in limits]
    print_table(["kind", "items", "size", "cited", "kept"], rows)


def _format_amount(item: Json | None) -> list[str]:
    return (
        [str(item["items"]), format_size(item["bytes"]), format_size(item["cited_bytes"])]
        if item
        else ["-", "-", "-"]
    )


def _format_limit(item: Json) -> str:
    message = [f"{item['days']} days"] if item["days"] is not None else []
    message += [f"up to {format_size(item['max_bytes'])}"] if item["max_bytes"] is not None else []
    return ", ".join(message) or "indefinitely"


@app.command("set-retention")
def set_retention(
    kind: Annotated[str, typer.Argument(help=KINDS)],
    days: Annotated[int | None, typer.Option(help="Days. Without --days and --size: indefinitely")] = None,
    up_to: Annotated[
        str | None, typer.Option("--size", help="Maximum size of this kind, for example 50GiB")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation")] = False,
    as_json: AsJson = False,
) -> None:
    """Set the retention policy of a kind, after a preview of what it deletes."""
    server = Server(find_target())
    body = {"kind": kind, "days": days, "max_bytes": parse_size(up_to) if up_to else None}
    preview = server.post("/storage/policy/preview", body)
    print_line(
        sys.stderr,
        f"This deletes {preview['items']} items ({format_size(preview['bytes'])}) of {preview['runs']} runs;"
        f" {preview['cited_items']} ({format_size(preview['cited_bytes'])}) are kept because they are cited.",
    )
    if not yes and not typer.confirm("Apply this policy?", err=True):
        raise CliError(ExitCode.CANCELED, "Nothing was changed.")
    reported = server.patch("/storage/policy", body)
    if as_json:
        print_json(reported)


@app.command("check")
def check_storage(
    delete_orphans: Annotated[
        bool, typer.Option("--delete-orphans", help="Delete files that no row references")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compare rows with stored files, and list the files that no longer match their SHA-256."""
    server = Server(find_target())
    requested = server.post("/storage/checks", {"kind": "check"})
    until = time.monotonic() + CHECK_S
    while requested["state"] in {"queued", "running"}:
        if time.monotonic() > until:
            raise CliError(ExitCode.TIMED_OUT, "The check is still running. Try again later.")
        time.sleep(POLL_S)
        requested = server.get(f"/storage/checks/{requested['id']}")
    checked, file_checks = requested["checked"] or {}, requested["file_checks"]
    gone = server.delete("/storage/orphans") if delete_orphans else None
    if as_json:
        print_json({**checked, "file_checks": file_checks, "deleted": gone})
    else:
        _print_storage(checked, gone)
        _print_file_checks(file_checks)
    if checked.get("missing", {}).get("count") or file_checks["altered_count"]:
        raise CliError(
            ExitCode.FAILED,
            "Evidence is altered or missing. Restore it from a backup: see docs/guide/operations.md.",
        )


def _print_storage(result: Json, gone: Json | None) -> None:
    orphans, missing = result["orphans"], result["missing"]
    print_line(
        sys.stdout, f"{result['rows']} rows and {result['files']} files ({format_size(result['bytes'])})"
    )
    print_line(sys.stdout, f"Orphaned files: {orphans['count']} ({format_size(orphans['bytes'])})")
    print_line(sys.stdout, f"Missing files: {missing['count']}")
    for digest in missing["examples"]:
        print_line(sys.stdout, f"  {digest}")
    if gone:
        print_line(sys.stdout, f"Deleted {gone['count']} files ({format_size(gone['bytes'])})")


def _print_file_checks(file_checks: Json) -> None:
    if file_checks["every_hours"] == 0:
        print_line(sys.stdout, "Files are not read again: CULPRIT_FILE_CHECK_HOURS is 0")
    elif file_checks["oldest_at"]:
        print_line(
            sys.stdout, f"{file_checks['files']} files were read again since {file_checks['oldest_at']}"
        )
    print_line(sys.stdout, f"Altered files: {file_checks['altered_count']}")
    for item in file_checks["altered"]:
        captures = ", ".join(f"#{capture['number']} {capture['plan']}" for capture in item["captures"])
        print_line(
            sys.stdout,
            f"  {item['sha256']} {item['reason']} since {item['altered_at']}, captures: {captures or 'none'}",
        )
