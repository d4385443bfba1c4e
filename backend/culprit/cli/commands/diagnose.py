"""culprit diagnose"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Annotated, Any
from uuid import uuid4

import typer

from culprit.cli.connection import Exit, Server, Stop, find_target, sentence
from culprit.cli.hosts import find_host
from culprit.cli.terminal import AsJson, print_json, say_to

POLL_S = 0.3
SHOWN_NUMBERS = 5
SCOPES = {
    "pid": "process",
    "cgroup": "cgroup",
    "container": "container",
    "service": "service",
    "port": "port",
}
Json = dict[str, Any]


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command()(diagnose)


def diagnose(  # noqa: PLR0917
    host: Annotated[str, typer.Argument(help="Name or id of the host that is sick")],
    pid: Annotated[str | None, typer.Option(help="Look at this process")] = None,
    cgroup: Annotated[
        str | None, typer.Option(help="Look at this control group, as in /system.slice/x")
    ] = None,
    container: Annotated[str | None, typer.Option(help="Look at this container")] = None,
    service: Annotated[str | None, typer.Option(help="Look at this service or systemd unit")] = None,
    port: Annotated[str | None, typer.Option(help="Look at whoever listens on this port")] = None,
    seconds: Annotated[int, typer.Option(min=5, max=60, help="How long the first look lasts")] = 8,
    baseline: Annotated[str, typer.Option(help="A run to compare with, 'auto' or 'none'")] = "auto",
    twin: Annotated[list[str] | None, typer.Option(help="A healthy host like it; may be repeated")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds to wait, then exit status 9")] = 300,
    as_json: AsJson = False,
) -> None:
    """Ask a host what is wrong with it: captures in stages, then the cause with the numbers that prove it."""
    server = Server(find_target())
    body: Json = {
        "host_id": find_host(server, host)["id"],
        "seconds": seconds,
        "baseline": baseline,
        "twin_ids": [find_host(server, name)["id"] for name in twin or []],
    }
    given = {"pid": pid, "cgroup": cgroup, "container": container, "service": service, "port": port}
    named = {name: value for name, value in given.items() if value}
    if len(named) > 1:
        raise Stop(Exit.USAGE, "Name one scope: " + " or ".join(f"--{name}" for name in named) + ".")
    for name, value in named.items():
        body["scope"] = {"kind": SCOPES[name], "value": value}
    read = server.post("/diagnoses", body, **{"Idempotency-Key": str(uuid4())})
    read = _follow(server, read, timeout)
    if as_json:
        print_json(_shape(read))
    elif read["state"] == "done":
        _tell(server, read)
    if read["state"] != "done":
        why = sentence(read["failure"]) if read["failure"] else read["state"]
        status = Exit.CANCELLED if read["state"] == "cancelled" else Exit.FAILED
        raise Stop(status, f"Diagnosis #{read['number']} of {read['host']['name']}: {why}")


def _follow(server: Server, read: Json, timeout: float) -> Json:
    """Poll until it has ended; each stage is told on standard error. Raises Stop after `timeout`."""
    end = time.monotonic() + timeout
    told: set[str] = set()
    while True:
        for number, stage in enumerate(read["stages"], 1):
            text = f"stage {number}: {stage['state']}"
            if text not in told:
                told.add(text)
                why = f" for {', '.join(stage['hypotheses'])}" if stage["hypotheses"] else ""
                what = f"{len(stage['collectors'])} collectors, {stage['seconds']:g} s, tier {stage['tier']}"
                say_to(sys.stderr, f"{read['host']['name']} {text} ({what}{why})")
        if read["state"] != "running":
            return read
        if time.monotonic() > end:
            raise Stop(Exit.TIMED_OUT, f"Diagnosis {read['id']} is still running.")
        time.sleep(POLL_S)
        read = server.get(f"/diagnoses/{read['id']}")


def _shape(read: Json) -> Json:
    """{"diagnosis", "host", "state", "causes", "ruled_out", "not_collected", "runs", "seconds", …}"""
    result = read["result"] or {"causes": [], "ruled_out": [], "not_collected": [], "runs": []}
    kept = {
        "diagnosis": read["id"],
        "host": read["host"]["name"],
        "scope": read["scope"],
        "state": read["state"],
    }
    return {
        **kept,
        **result,
        "seconds": read["elapsed_s"],
        "stages": read["stages"],
        "failure": read["failure"],
    }


def _tell(server: Server, read: Json) -> None:
    result = read["result"]
    rules = {one["id"]: one for one in server.get("/rules")}
    causes = {one["id"]: one for one in server.get("/causes")}
    if not result["causes"]:
        say_to(sys.stdout, f"No cause found on {read['host']['name']}.")
    for one in result["causes"]:
        cause = causes[one["id"]]
        at = f" ({_subject(one['scope'])})" if one["scope"] else ""
        say_to(sys.stdout, f"{one['confidence'].upper()}: {cause['title']['en']} [{one['id']}]{at}")
        for number in one["evidence"][:SHOWN_NUMBERS]:
            say_to(sys.stdout, f"  {_number(number, rules)}")
        if one["explains"]:
            say_to(sys.stdout, f"  explains {', '.join(one['explains'])}")
        say_to(sys.stdout, f"  fix: {cause['fix']['en']}")
        say_to(sys.stdout, f"  risk: {cause['risk']['en']}")
    for one in result["ruled_out"]:
        say_to(
            sys.stdout,
            f"ruled out: {one['id']} by {'; '.join(_number(each, rules) for each in one['by'][:1])}",
        )
    if result["not_looked_at"]:
        say_to(sys.stdout, f"not looked at: {', '.join(result['not_looked_at'])}")
    for one in result["not_collected"]:
        say_to(sys.stdout, f"not collected: {one['finding']}: {sentence(one['reason'])}")
    for one in result["inconclusive"]:
        say_to(sys.stdout, f"inconclusive: {one['rule']}: {sentence(one['reason'])}")
    for one in result["differences"][:10]:
        say_to(sys.stdout, f"unlike its twins: {one['name']}: {one['here']} here, {one['there']}")
    say_to(sys.stdout, f"{read['elapsed_s']:.1f} s, {len(read['stages'])} stages. {result['link']}")


def _number(one: Json, rules: Mapping[str, Json]) -> str:
    where = one["locator"]
    lines = ",".join(str(line) for line in where.get("lines", []))
    place = f"{where.get('collector', '')}:{where.get('part', '')}{':' + lines if lines else ''}"
    about = f" {_subject(one['subject'])}" if one["subject"] else ""
    against = f" {one['op']} {one['threshold']:.4g}" if one["op"] else ""
    figure = f"{one['value']:.4g} {one['unit']}{against}"
    return f"{_title(one, rules.get(one['finding']))}{about}: {one['metric']} = {figure} [{place}]"


def _title(one: Json, rule: Json | None) -> str:
    """What was compared is called as its rule is, what stands beside it as what was measured."""
    if rule is None:
        return str(one["finding"])
    beside = next((each["title"]["en"] for each in rule["beside"] if each["measure"] == one["metric"]), "")
    return beside if beside and not one["op"] else str(rule["title"]["en"])


def _subject(subject: Mapping[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in subject.items())
