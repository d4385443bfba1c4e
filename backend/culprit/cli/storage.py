"""culprit storage show|keep|check"""

from __future__ import annotations

import sys
import time
from typing import Annotated, Any

import typer

from culprit.cli.connection import Exit, Server, Stop, find_target
from culprit.cli.terminal import AsJson, print_json, say_to, table

app = typer.Typer(no_args_is_help=True)
UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
#: Longer than a worker takes for ten million files; whoever has more asks again.
KINDS = "recordings, texts, imports, profiles, comparisons, series, tables or events"
CHECK_S = 900
POLL_S = 1.0
Json = dict[str, Any]


def size(count: int) -> str:
    """Bytes for people: three digits and a unit of 1024."""
    value, unit = float(count), UNITS[0]
    for unit in UNITS:
        if value < 1000 or unit == UNITS[-1]:
            break
        value /= 1024
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.3g} {unit}"


def bytes_of(text: str) -> int:
    """`50GiB`, `1.5 TiB` or plain bytes. Raises Stop."""
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
        raise Stop(Exit.USAGE, f"'{text}' is no size: write it as 50GiB.") from None


@app.command()
def show(as_json: AsJson = False) -> None:
    """What uses the space, how long each kind is kept, and when the disk is full."""
    told = Server(find_target()).get("/storage")
    if as_json:
        print_json(told)
        return
    disk, measured, forecast = told["disk"], told["measured"], told["forecast"]
    say_to(sys.stdout, f"Disk: {size(disk['free'])} free of {size(disk['total'])}")
    if forecast and forecast["days"] >= 2:
        full = f"full on {forecast['full_at'][:10]}" if forecast["full_at"] else "does not fill"
        say_to(
            sys.stdout,
            f"Grows {size(forecast['grows_per_day'])} a day, {size(forecast['removed_per_day'])} a day are deleted"
            f" (mean of {forecast['days']} days): {full}",
        )
    if measured is None:
        say_to(sys.stdout, "It was not measured yet; the scheduler does so every hour.")
    limits = {one["kind"]: _limit(one) for one in told["policies"]}
    kinds = (measured or {}).get("kinds", {})
    rows = [[kind, *_amount(kinds.get(kind)), limits[kind]] for kind in limits]
    table(["kind", "items", "size", "cited", "kept"], rows)


def _amount(one: Json | None) -> list[str]:
    return [str(one["items"]), size(one["bytes"]), size(one["cited_bytes"])] if one else ["-", "-", "-"]


def _limit(one: Json) -> str:
    said = [f"{one['days']} days"] if one["days"] is not None else []
    said += [f"up to {size(one['max_bytes'])}"] if one["max_bytes"] is not None else []
    return ", ".join(said) or "for ever"


@app.command()
def keep(
    kind: Annotated[str, typer.Argument(help=KINDS)],
    days: Annotated[int | None, typer.Option(help="So many days; left out with --size: for ever")] = None,
    up_to: Annotated[
        str | None, typer.Option("--size", help="As much as this kind may fill, as in 50GiB")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask")] = False,
    as_json: AsJson = False,
) -> None:
    """Set how long a kind is kept, after showing what that deletes."""
    server = Server(find_target())
    body = {"kind": kind, "days": days, "max_bytes": bytes_of(up_to) if up_to else None}
    seen = server.post("/storage/policy/preview", body)
    say_to(
        sys.stderr,
        f"This deletes {seen['items']} items ({size(seen['bytes'])}) of {seen['runs']} runs;"
        f" {seen['cited_items']} ({size(seen['cited_bytes'])}) stay because they are cited.",
    )
    if not yes and not typer.confirm("Set it?", err=True):
        raise Stop(Exit.CANCELLED, "Nothing was changed.")
    told = server.patch("/storage/policy", body)
    if as_json:
        print_json(told)


@app.command()
def check(
    mend: Annotated[bool, typer.Option("--mend", help="Delete bytes that no row names")] = False,
    as_json: AsJson = False,
) -> None:
    """Hold rows against bytes: bytes that no row names, rows whose bytes are gone."""
    server = Server(find_target())
    asked = server.post("/storage/looks", {"kind": "check"})
    until = time.monotonic() + CHECK_S
    while asked["state"] in {"queued", "running"}:
        if time.monotonic() > until:
            raise Stop(Exit.TIMED_OUT, "The check still runs; ask again later.")
        time.sleep(POLL_S)
        asked = server.get(f"/storage/looks/{asked['id']}")
    found = asked["checked"] or {}
    gone = server.post("/storage/mend", {}) if mend else None
    if as_json:
        print_json({**found, "deleted": gone})
    else:
        _tell(found, gone)
    if found.get("lost", {}).get("count"):
        raise Stop(Exit.FAILED, "Evidence is missing: restore it from a backup.")


def _tell(found: Json, gone: Json | None) -> None:
    orphans, lost = found["orphans"], found["lost"]
    say_to(sys.stdout, f"{found['rows']} rows and {found['files']} files ({size(found['bytes'])})")
    say_to(sys.stdout, f"Bytes without a row: {orphans['count']} ({size(orphans['bytes'])})")
    say_to(sys.stdout, f"Rows without bytes: {lost['count']}")
    for digest in lost["named"]:
        say_to(sys.stdout, f"  {digest}")
    if gone:
        say_to(sys.stdout, f"Deleted {gone['count']} files ({size(gone['bytes'])})")
