"""culprit demo"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Annotated
from uuid import uuid4

import typer

from culprit.cli.connection import CliError, ExitCode, Server, find_target, render_message
from culprit.cli.lab_host import LabHostClient, open_lab_host
from culprit.cli.terminal import print_line
from culprit.domain.runs.states import CAPTURE_FINAL, RUN_FINAL
from culprit.json_types import Json

POLL_S = 0.5
WAIT_S, JUDGED_S = 180.0, 400.0
#: Number of steps that the demo answers with a capture. The other steps are waived with a reason.
MAX_STEPS = 4
FAULTS = {
    "listen-overflow": "connections meet a full accept queue",
    "oversubscription": "hundreds of threads compute under a quota of one CPU",
    "osync-log": "the request log is opened with O_SYNC",
    "major-faults": "the memory limit holds a fraction of the index",
    "firewall-drop": "a firewall rule drops packets at random",
    "port-exhaustion": "no local port is available for one destination",
    "memcg-oom": "a memory leak is killed at its limit repeatedly",
    "slow-dependency": "Redis stops responding for two seconds at a time",
}


def register_commands(root: typer.Typer) -> None:
    """Add the command to the application."""
    root.command("demo")(run_demo)


def run_demo(
    fault: Annotated[str, typer.Option(help="Fault to inject: " + ", ".join(FAULTS))] = "listen-overflow",
    seed: Annotated[int, typer.Option(help="Seed of the random choices")] = 7,
) -> None:
    """Inject a fault into a lab host and work through an incident, from symptom to verified fix.

    Needs root for network namespaces. Without root, an incident over a recorded host is created; its fix
    cannot be verified.
    """
    if fault not in FAULTS:
        raise CliError(ExitCode.USAGE, f"Unknown fault '{fault}'. Known faults: {', '.join(FAULTS)}.")
    server = Server(find_target())
    if os.geteuid() != 0:
        _create_example_incident(server)
        return
    _print(f"Starting a healthy lab host. Fault: {FAULTS[fault]} …")
    with open_lab_host(fault, seed) as host:
        host_id = _add_host(server, host.ready)
        try:
            _IncidentDemo(server, host, host_id).run_steps(FAULTS[fault])
        finally:
            server.delete(f"/hosts/{host_id}")


def _create_example_incident(server: Server) -> None:
    """Create an incident over a recorded host."""
    _print(
        "A lab host needs root (network namespaces). Using a recorded host instead; its fix cannot be verified."
    )
    opened = server.post("/imports/example", {}, **_build_idempotency())
    read = _poll_until(
        lambda: server.get(f"/captures/{opened['id']}"), lambda item: item["state"] in CAPTURE_FINAL
    )
    runs = [run["id"] for run in read["runs"]]
    body = {"title": "Demo: a busy host (recorded)", "severity": 3, "run_ids": runs}
    incident = server.post("/incidents", body, **_build_idempotency())
    _print(f"INC-{incident['number']} is open: {server.target.url}/incidents/{incident['id']}")


def _add_host(server: Server, ready: Json) -> str:
    """Add the host with its address and trusted key, and its service with a metric source.

    Return the ID of the host.
    """
    name = f"demo-{ready['name']}"
    network = {"cidr": f"{ready['address']}/32", "port_from": ready["port"], "port_to": ready["port"]}
    server.post("/network-rules", network, **_build_idempotency())
    body = {
        "name": name,
        "address": ready["address"],
        "port": ready["port"],
        "username": ready["username"],
        "credential": {"kind": "key", "private_key": ready["private_key"]},
        "host_key_fingerprint": ready["fingerprint"],
        "labels": {"demo": name},
    }
    host_id = str(server.post("/hosts", body, **_build_idempotency())["id"])
    log = {"kind": "access_log", "path": ready["access_log"], "format": "lab"}
    source = log if ready["access_log"] else {"kind": "accepts", "port": ready["service_port"]}
    server.post(
        "/services", {"name": name, "selector": {"demo": name}, "source": source}, **_build_idempotency()
    )
    _print(f"Added as {name} with a trusted host key.")
    return host_id


class _IncidentDemo:
    """Work through one incident with the requests that the browser sends."""

    def __init__(self, server: Server, host: LabHostClient, host_id: str) -> None:
        self.server, self.host, self.host_id = server, host, host_id
        self.cause = str(host.ready["causes"][0])
        self.incident: Json = {}

    def run_steps(self, fault: str) -> None:
        """Run all steps. Raises CliError if the evidence does not confirm the cause."""
        self._open_incident(self._diagnose(), fault)
        self._run_proposed_steps()
        hypotheses = [
            hypothesis for hypothesis in self.incident["hypotheses"] if hypothesis["cause"] == self.cause
        ]
        if not hypotheses:
            raise CliError(
                ExitCode.FAILED, f"No evidence supports {self.cause} this time. The incident stays open."
            )
        hypothesis = max(hypotheses, key=lambda hypothesis: len(hypothesis["supports"]))
        self._record_verdicts(hypothesis)
        fix = self._verify_fix(hypothesis)
        _print(f"Result of the verification: {fix['state'].replace('_', ' ')}.")
        if fix["state"] != "verified":
            raise CliError(ExitCode.FAILED, "The fix was not verified, so the cause cannot be confirmed.")
        self._close_incident(hypothesis)

    # -- the symptom ----------------------------------------------------------------------------------------------

    def _diagnose(self) -> Json:
        requested = self.server.post(
            "/diagnoses", {"host_id": self.host_id, "seconds": 8}, **_build_idempotency()
        )
        _print(f"Diagnosing: {self.server.target.url}/diagnoses/{requested['id']}")
        where = f"/diagnoses/{requested['id']}"
        reported = _poll_until(lambda: self.server.get(where), lambda item: item["state"] != "running")
        if reported["state"] != "done":
            raise CliError(ExitCode.FAILED, f"The diagnosis failed: {render_message(reported['failure'])}")
        return reported

    def _open_incident(self, diagnosis: Json, fault: str) -> None:
        healthy, unhealthy = self.host.ready["healthy"][self.cause], self.host.clients()
        _print(
            f"Clients: p99 {_format_p99(healthy)} before, {_format_p99(unhealthy)} now; "
            f"{_compute_failed_pct(healthy):.0f} % and {_compute_failed_pct(unhealthy):.0f} % fail."
        )
        name = diagnosis["host"]["name"]
        symptom = {
            "service": name,
            "description": f"Demo: {fault}.",
            "latency": {"before": healthy.get("p99_ms"), "after": unhealthy.get("p99_ms"), "unit": "ms"},
            "errors": {
                "before": _compute_failed_pct(healthy),
                "after": _compute_failed_pct(unhealthy),
                "unit": "%",
            },
            "since": diagnosis["created_at"],
        }
        title = f"Demo: {name} responds late or not at all"
        body = {"title": title, "severity": 2, "symptom": symptom, "diagnosis_id": diagnosis["id"]}
        self.incident = self.server.post("/incidents", body, **_build_idempotency())
        causes = [f"{cause['id']} ({cause['confidence']})" for cause in diagnosis["result"]["causes"]]
        _print(f"INC-{self.incident['number']}: the rules name {', '.join(causes) or 'no cause'}.")
        _print(f"Open it in the browser: {self.server.target.url}/incidents/{self.incident['id']}")
        self._send_change("patch", "", {"state": "investigating"})

    # -- the chain ------------------------------------------------------------------------------------------------

    def _run_proposed_steps(self) -> None:
        """Run the proposed steps as long as a capture can answer them."""
        for _ in range(MAX_STEPS):
            step = self.incident["next"]
            if not step or not step["collectors"]:
                break
            cost = f"{step['tier']} tier, {step['cost']['seconds']} s"
            _print(f"Next: {step['step']}: {', '.join(step['collectors'])} ({cost})")
            try:
                self._send_change("post", "/step-runs", {"step": step["step"], "host_id": step["host_id"]})
            except CliError as refused:
                if refused.status is not ExitCode.REFUSED:
                    raise
                _print(f"This step needs a decision by a person and stays open: {refused.message}")
                break
            self._wait_until(lambda item: all(run["state"] in RUN_FINAL for run in item["runs"]))

    def _record_verdicts(self, hypothesis: Json) -> None:
        """Record a verdict for each step that supports the cause, with the line that proves it."""
        for step in [step for step in self.incident["steps"] if step["key"] in hypothesis["supports"]]:
            seen = next((host for host in step["hosts"] if _build_pin(host["findings"], step["key"])), None)
            if seen is None:
                continue
            self._send_change("post", "/pins", _build_pin(seen["findings"], step["key"]) or {})
            pins = [self.incident["created_id"]]
            messages = {"step": step["key"], "host_id": seen["host_id"], "verdict": "supports", "pins": pins}
            self._send_change("post", "/verdicts", messages)
            _print(f"Verdict: {step['question']['en']} Yes, by the line that it cites.")
        self._decide_hypothesis(hypothesis, "likely", "the rules, and the cited lines")
        self._send_change("patch", "", {"state": "identified"})

    def _decide_hypothesis(self, hypothesis: Json, state: str, note: str) -> None:
        self._send_change("patch", f"/hypotheses/{hypothesis['id']}", {"state": state, "note": note})

    # -- the fix --------------------------------------------------------------------------------------------------

    def _verify_fix(self, hypothesis: Json) -> Json:
        """Measure before the fix, remove the fault under load, and let the server measure again and compare."""
        what = {
            "hypothesis_id": hypothesis["id"],
            "what": f"Undo it: {self.host.ready['summaries'][0]}",
            "host_ids": [self.host_id],
            "risk": "None: it is a host of the lab.",
            "rollback": "Run the demo again.",
        }
        self._send_change("post", "/fixes", what)
        name = self.incident["created_id"]
        fix = f"/fixes/{name}"
        self._send_change("post", f"{fix}/verify", {"kind": "plain"})
        read = (hypothesis["primary"] or {}).get("read", "nothing")
        _print(f"Measuring {read} before the fix, one capture at a time …")
        self._wait_until(lambda item: _get_last_verification(item, name)["state"] != "before", JUDGED_S)
        if _get_last_verification(self.incident, name)["state"] != "waiting":
            why = render_message(_get_last_verification(self.incident, name)["failure"])
            raise CliError(ExitCode.FAILED, f"Cannot measure before the fix: {why}")
        self.host.request(f"repair {self.cause}")
        self._send_change("patch", fix, {"state": "applied"})
        self._send_change("patch", "", {"state": "mitigated"})
        _print("The fault is removed. Repeating the captures under the same load …")
        self._wait_until(lambda item: _is_judged(_get_fix(item, name)), JUDGED_S)
        return _get_fix(self.incident, name)

    def _close_incident(self, hypothesis: Json) -> None:
        self._decide_hypothesis(hypothesis, "confirmed", "the fix was verified")
        self._close_open_steps(hypothesis)
        self._send_change("patch", "", {"state": "resolved"})
        _print(f"INC-{self.incident['number']} is resolved: {self.cause}, confirmed by the fix.")

    def _close_open_steps(self, hypothesis: Json) -> None:
        """Waive the open steps of the playbook of the cause, and dismiss other playbooks."""
        reason = "the verified fix answers it: the same load is well again"
        own = hypothesis["key"].partition("/")[0]
        for book in dict.fromkeys(gap.partition("/")[0] for gap in self.incident["gaps"]):
            steps = [gap for gap in self.incident["gaps"] if gap.startswith(f"{book}/")]
            if book in {own, "own"}:
                self._send_change("post", "/waivers", {"steps": steps, "reason": reason})
                _print(f"Waived with a reason: {', '.join(steps)}")
            else:
                self._send_change("patch", f"/playbooks/{book}", {"dismissed": True, "reason": reason})
                _print(f"Dismissed, with the reason: {book}, with {len(steps)} open steps.")

    # -- requests
    # ---------------------------------------------------------------------------------------------------

    def _send_change(self, method: str, path: str, body: Json) -> None:
        """Send one change of the incident. After a conflict, reload the incident and send it again."""
        where = f"/incidents/{self.incident['id']}"
        for left in range(4, -1, -1):
            sent = {**body, "version": self.server.get(where)["version"]}
            try:
                if method == "patch":
                    self.incident = self.server.patch(where + path, sent)
                else:
                    self.incident = self.server.post(where + path, sent, **_build_idempotency())
            except CliError:
                if not left or self.server.get(where)["version"] == sent["version"]:
                    raise
            else:
                return

    def _wait_until(self, done: Callable[[Json], bool], seconds: float = WAIT_S) -> None:
        where = f"/incidents/{self.incident['id']}"
        self.incident = _poll_until(lambda: self.server.get(where), done, seconds)


def _get_fix(incident: Json, fix: str) -> Json:
    current: Json = next(item for item in incident["fixes"] if item["id"] == fix)
    return current


def _get_last_verification(incident: Json, fix: str) -> Json:
    verification: Json = _get_fix(incident, fix)["verifications"][-1]
    return verification


def _is_judged(fix: Json) -> bool:
    return all(
        verification["state"] in {"done", "failed", "canceled"} for verification in fix["verifications"]
    )


def _build_pin(findings: list[Json], step: str) -> Json | None:
    """Return a pin on the first line that a number of these findings was read from."""
    cites = (
        citation for finding in findings for number in finding["numbers"] for citation in number["citations"]
    )
    citation = next((citation for citation in cites if citation["artifact"] and citation["lines"]), None)
    if citation is None:
        return None
    ref = {"artifact_id": citation["artifact"], "part": citation["part"], "lines": citation["lines"][:4]}
    return {
        "kind": "line",
        "ref": ref,
        "view": f"/artifacts/{citation['artifact']}?line={citation['lines'][0]}",
        "step": step,
    }


def _poll_until(ask: Callable[[], Json], done: Callable[[Json], bool], seconds: float = WAIT_S) -> Json:
    """Poll until `done` is true. Raises CliError after `seconds`."""
    end = time.monotonic() + seconds
    while not done(read := ask()):
        if time.monotonic() > end:
            raise CliError(
                ExitCode.TIMED_OUT,
                f"No result after {seconds:.0f} s. The incident and its captures are kept.",
            )
        time.sleep(POLL_S)
    return read


def _build_idempotency() -> dict[str, str]:
    return {"Idempotency-Key": str(uuid4())}


def _print(text: str) -> None:
    print_line(sys.stdout, text)


def _format_p99(seen: Json) -> str:
    value = seen.get("p99_ms")
    return "no answer" if value is None else f"{value:.0f} ms"


def _compute_failed_pct(seen: Json) -> float:
    failed, requests = float(seen["errors"] + seen["timeouts"]), float(seen["requests"])
    return round(100.0 * failed / max(1.0, requests), 1)
