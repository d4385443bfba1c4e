"""culprit diagnose"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Annotated
from uuid import uuid4

import typer

from culprit.cli.commands.hosts import find_host
from culprit.cli.connection import CliError, ExitCode, Server, find_target, render_message
from culprit.cli.terminal import AsJson, print_json, print_line
from culprit.json_types import Json

POLL_S = 0.3
MAX_NUMBERS = 5
SCOPES = {
    "pid": "process",
    "cgroup": "cgroup",
    "container": "container",
    "service": "service",
    "port": "port",
}


def register_commands(root: typer.Typer) -> None:
    """Add the command to the application."""
    root.command("diagnose")(run_diagnosis)


def run_diagnosis(  # noqa: PLR0917
    host: Annotated[str, typer.Argument(help="Name or ID of the host")],
    pid: Annotated[str | None, typer.Option(help="Limit the scope to this process")] = None,
    cgroup: Annotated[
        str | None, typer.Option(help="Limit the scope to this control group, for example /system.slice/x")
    ] = None,
    container: Annotated[str | None, typer.Option(help="Limit the scope to this container")] = None,
    service: Annotated[
        str | None, typer.Option(help="Limit the scope to this service or systemd unit")
    ] = None,
    port: Annotated[
        str | None, typer.Option(help="Limit the scope to the process that listens on this port")
    ] = None,
    seconds: Annotated[int, typer.Option(min=5, max=60, help="Duration of the triage in seconds")] = 8,
    baseline: Annotated[str, typer.Option(help="A run to compare with, 'auto' or 'none'")] = "auto",
    peer: Annotated[
        list[str] | None, typer.Option(help="A healthy host with the same role. Can be repeated")
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds to wait, then exit status 9")] = 300,
    as_json: AsJson = False,
) -> None:
    """Diagnose a host in stages and print the cause with the numbers that prove it."""
    server = Server(find_target())
    body: Json = {
        "host_id": find_host(server, host)["id"],
        "seconds": seconds,
        "baseline": baseline,
        "peer_ids": [find_host(server, name)["id"] for name in peer or []],
    }
    supplied = {"pid": pid, "cgroup": cgroup, "container": container, "service": service, "port": port}
    named = {name: value for name, value in supplied.items() if value}
    if len(named) > 1:
        raise CliError(
            ExitCode.USAGE, "Select one scope: " + " or ".join(f"--{name}" for name in named) + "."
        )
    for name, value in named.items():
        body["scope"] = {"kind": SCOPES[name], "value": value}
    read = server.post("/diagnoses", body, **{"Idempotency-Key": str(uuid4())})
    read = _follow_diagnosis(server, read, timeout)
    if as_json:
        print_json(_shape(read))
    elif read["state"] == "done":
        _print_result(server, read)
    if read["state"] != "done":
        why = render_message(read["failure"]) if read["failure"] else read["state"]
        status = ExitCode.CANCELED if read["state"] == "canceled" else ExitCode.FAILED
        raise CliError(status, f"Diagnosis #{read['number']} of {read['host']['name']}: {why}")


def _follow_diagnosis(server: Server, read: Json, timeout: float) -> Json:
    """Poll until the diagnosis has ended and print each stage on standard error.

    Raises CliError after `timeout`.
    """
    end = time.monotonic() + timeout
    reported: set[str] = set()
    while True:
        for number, stage in enumerate(read["stages"], 1):
            text = f"stage {number}: {stage['state']}"
            if text not in reported:
                reported.add(text)
                why = f" for {', '.join(stage['hypotheses'])}" if stage["hypotheses"] else ""
                what = f"{len(stage['collectors'])} collectors, {stage['seconds']:g} s, tier {stage['tier']}"
                print_line(sys.stderr, f"{read['host']['name']} {text} ({what}{why})")
            text = f"stage {number}: causes"
            if stage["named"] is not None and text not in reported:
                reported.add(text)
                causes = ", ".join(f"{item['cause']} ({item['confidence']})" for item in stage["named"])
                print_line(
                    sys.stderr,
                    f"{read['host']['name']} after {stage['named_after_s']:.0f} s: {causes or 'no cause'}",
                )
        if read["state"] != "running":
            return read
        if time.monotonic() > end:
            raise CliError(ExitCode.TIMED_OUT, f"Diagnosis {read['id']} is still running.")
        time.sleep(POLL_S)
        read = server.get(f"/diagnoses/{read['id']}")


def _shape(read: Json) -> Json:
    """{"diagnosis", "host", "state", "causes", "ruled_out", "not_collected", "runs", "seconds", …}"""
    result = read["result"] or {"causes": [], "ruled_out": [], "not_collected": [], "runs": []}
    stored = {
        "diagnosis": read["id"],
        "host": read["host"]["name"],
        "scope": read["scope"],
        "state": read["state"],
    }
    return {
        **stored,
        **result,
        "seconds": read["elapsed_s"],
        "stages": read["stages"],
        "failure": read["failure"],
    }


def _print_result(server: Server, read: Json) -> None:
    result = read["result"]
    rules = {item["id"]: item for item in server.get("/rules")}
    causes = {item["id"]: item for item in server.get("/causes")}
    if not result["causes"]:
        print_line(sys.stdout, f"No cause found on {read['host']['name']}.")
        _print_leads(result, rules)
    _print_time(result)
    for item in result["causes"]:
        cause = causes[item["id"]]
        at = f" ({_format_subject(item['scope'])})" if item["scope"] else ""
        explained = f", explains {_format_share(item['share'])} of the time" if item.get("share") else ""
        title = f"{item['confidence'].upper()}: {cause['title']['en']} [{item['id']}]{at}{explained}"
        print_line(sys.stdout, title)
        for number in item["evidence"][:MAX_NUMBERS]:
            print_line(sys.stdout, f"  {_format_number(number, rules)}")
        if item["explains"]:
            print_line(sys.stdout, f"  explains {', '.join(item['explains'])}")
        print_line(sys.stdout, f"  fix: {cause['fix']['en']}")
        print_line(sys.stdout, f"  risk: {cause['risk']['en']}")
    for item in result["ruled_out"]:
        print_line(
            sys.stdout,
            f"ruled out: {item['id']} by {'; '.join(_format_number(each, rules) for each in item['by'][:1])}",
        )
    if result["not_checked"]:
        print_line(sys.stdout, f"not checked: {', '.join(result['not_checked'])}")
    for item in result["not_collected"]:
        print_line(sys.stdout, f"not collected: {item['finding']}: {render_message(item['reason'])}")
    for item in result["inconclusive"]:
        print_line(sys.stdout, f"inconclusive: {item['rule']}: {render_message(item['reason'])}")
    for item in result["differences"][:10]:
        print_line(
            sys.stdout, f"different from its peers: {item['name']}: {item['local']} here, {item['peers']}"
        )
    print_line(sys.stdout, f"{read['elapsed_s']:.1f} s, {len(read['stages'])} stages. {result['link']}")


def _print_leads(result: Json, rules: Mapping[str, Json]) -> None:
    """Print what goes with "no cause": context findings, the largest consumers, and untried collectors."""
    for item in result["context"]:
        title = rules[item["rule"]]["title"]["en"] if item["rule"] in rules else item["rule"]
        about = f" ({_format_subject(item['subject'])})" if item["subject"] else ""
        print_line(sys.stdout, f"context: {title}{about}")
    for item in result["consumers"]:
        print_line(
            sys.stdout,
            f"uses most {item['resource']}: {item['name']} ({item['pid']}), {item['amount']:.4g} {item['unit']}, "
            f"{item['share_pct']:.0f} %",
        )
    for item in result["deeper"]:
        cost = f"{item['seconds']} s, tier {item['tier']}, {item['cpu_pct']:g} % of a CPU"
        print_line(
            sys.stdout, f"deeper look: {item['collector']} ({cost}) decides {', '.join(item['decides'])}"
        )


def _print_time(result: Json) -> None:
    """Print where the time of services goes, and what of it no likely cause explains."""
    for account in result.get("time_accounts", []):
        shares = ", ".join(
            f"{share['activity']}{' ' + share['target'] if share['target'] else ''} {_format_share(share['share'])}"
            for share in account["shares"][:MAX_NUMBERS]
        )
        who = f"{account['service']} ({_format_subject(account['subject'])})"
        print_line(sys.stdout, f"time of {who}: {shares or 'idle'}; {account['sample_count']} samples")
    if result.get("unexplained_pct") is not None:
        figure = f"{result['unexplained_pct']:.0f} % of the time of the most harmed service"
        print_line(sys.stdout, f"not explained by a likely cause: {figure}")


def _format_share(share: Json) -> str:
    return f"{share['pct']:.0f} % [{share['low_pct']:.0f}, {share['high_pct']:.0f}]"


def _format_number(item: Json, rules: Mapping[str, Json]) -> str:
    where = item["locator"]
    lines = ",".join(str(line) for line in where.get("lines", []))
    place = f"{where.get('collector', '')}:{where.get('part', '')}{':' + lines if lines else ''}"
    about = f" {_format_subject(item['subject'])}" if item["subject"] else ""
    against = f" {item['op']} {item['threshold']:.4g}" if item["op"] else ""
    figure = f"{item['value']:.4g} {item['unit']}{against}"
    return f"{_get_title(item, rules.get(item['finding']))}{about}: {item['metric']} = {figure} [{place}]"


def _get_title(item: Json, rule: Json | None) -> str:
    """Return the title of the rule for the compared number, and the measure for a related number."""
    if rule is None:
        return str(item["finding"])
    related = next((each["title"]["en"] for each in rule["related"] if each["measure"] == item["metric"]), "")
    return related if related and not item["op"] else str(rule["title"]["en"])


def _format_subject(subject: Mapping[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in subject.items())
