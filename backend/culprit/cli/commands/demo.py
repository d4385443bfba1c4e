"""culprit demo"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Annotated, Any
from uuid import uuid4

import typer

from culprit.cli.connection import Exit, Server, Stop, find_target, sentence
from culprit.cli.lab_host import LabHost, standing
from culprit.cli.terminal import say_to
from culprit.core.outcomes import CAPTURE_FINAL, RUN_FINAL

Json = dict[str, Any]
POLL_S = 0.5
WAIT_S, JUDGED_S = 180.0, 400.0
#: Steps that the demo lets a capture answer; the rest of the chain is left with a reason.
MAX_STEPS = 4
FAULTS = {
    "listen-overflow": "connections find the accept queue full",
    "oversubscription": "hundreds of threads compute under a quota of one CPU",
    "osync-log": "the request log is opened with O_SYNC",
    "major-faults": "the memory limit holds a fraction of the index",
    "firewall-drop": "a firewall rule drops packets at random",
    "port-exhaustion": "no local port is left towards one destination",
    "memcg-oom": "a leak is killed at its memory limit, again and again",
    "slow-dependency": "Redis answers nobody for two seconds at a time",
}


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command()(demo)


def demo(
    fault: Annotated[str, typer.Option(help="Which illness: " + ", ".join(FAULTS))] = "listen-overflow",
    seed: Annotated[int, typer.Option(help="What is drawn at random comes from it")] = 7,
) -> None:
    """Make a host of the lab sick, and walk an incident from its symptom to a fix that is proven, live.

    Needs root, for network namespaces. Without it a recorded host is opened instead, whose fix cannot be tried.
    """
    if fault not in FAULTS:
        raise Stop(Exit.USAGE, f"There is no fault '{fault}'; there are {', '.join(FAULTS)}.")
    server = Server(find_target())
    if os.geteuid() != 0:
        _recorded(server)
        return
    _tell(f"Starting a host of the lab, healthy first; then {FAULTS[fault]} …")
    with standing(fault, seed) as host:
        host_id = _enrol(server, host.ready)
        try:
            _Walk(server, host, host_id).go(FAULTS[fault])
        finally:
            server.delete(f"/hosts/{host_id}")


def _recorded(server: Server) -> None:
    """An incident over a recording: all of the chain but what needs the host to be there."""
    _tell("A lab host needs root (network namespaces), so this is a recorded one: its fix cannot be tried.")
    opened = server.post("/imports/example", {}, **_once())
    read = _until(lambda: server.get(f"/captures/{opened['id']}"), lambda one: one["state"] in CAPTURE_FINAL)
    runs = [one["id"] for one in read["runs"]]
    body = {"title": "Demo: a busy host (recorded)", "severity": 3, "run_ids": runs}
    incident = server.post("/incidents", body, **_once())
    _tell(f"INC-{incident['number']} is open: {server.target.url}/incidents/{incident['id']}")


def _enrol(server: Server, ready: Json) -> str:
    """The host, under its address and pinned key, and its service with what tells rate and latency."""
    name = f"demo-{ready['name']}"
    network = {"cidr": f"{ready['address']}/32", "port_from": ready["port"], "port_to": ready["port"]}
    server.post("/network-rules", network, **_once())
    body = {
        "name": name,
        "address": ready["address"],
        "port": ready["port"],
        "username": ready["username"],
        "credential": {"kind": "key", "private_key": ready["private_key"]},
        "host_key_fingerprint": ready["fingerprint"],
        "labels": {"demo": name},
    }
    host_id = str(server.post("/hosts", body, **_once())["id"])
    log = {"kind": "access_log", "path": ready["access_log"], "format": "lab"}
    source = log if ready["access_log"] else {"kind": "accepts", "port": ready["service_port"]}
    server.post("/services", {"name": name, "selector": {"demo": name}, "source": source}, **_once())
    _tell(f"Enrolled as {name}, its key pinned.")
    return host_id


class _Walk:
    """One incident from its symptom to the proof; whatever it does, a person could do in the browser."""

    def __init__(self, server: Server, host: LabHost, host_id: str) -> None:
        self.server, self.host, self.host_id = server, host, host_id
        self.cause = str(host.ready["causes"][0])
        self.incident: Json = {}

    def go(self, illness: str) -> None:
        """All of it. Raises Stop where the chain does not hold this time."""
        self._open(self._diagnose(), illness)
        self._collect()
        found = [one for one in self.incident["hypotheses"] if one["cause"] == self.cause]
        if not found:
            raise Stop(
                Exit.FAILED, f"Nothing spoke for {self.cause} this time; the incident stays open for you."
            )
        hypothesis = max(found, key=lambda one: len(one["supports"]))
        self._conclude(hypothesis)
        fix = self._fix(hypothesis)
        _tell(f"What the comparison says of the fix: {fix['state'].replace('_', ' ')}.")
        if fix["state"] != "verified":
            raise Stop(Exit.FAILED, "The server lets nobody confirm a cause without a fix that was verified.")
        self._close(hypothesis)

    # -- the symptom ----------------------------------------------------------------------------------------------

    def _diagnose(self) -> Json:
        asked = self.server.post("/diagnoses", {"host_id": self.host_id, "seconds": 8}, **_once())
        _tell(f"Diagnosing: {self.server.target.url}/diagnoses/{asked['id']}")
        where = f"/diagnoses/{asked['id']}"
        told = _until(lambda: self.server.get(where), lambda one: one["state"] != "running")
        if told["state"] != "done":
            raise Stop(Exit.FAILED, f"The diagnosis failed: {sentence(told['failure'])}")
        return told

    def _open(self, diagnosis: Json, illness: str) -> None:
        healthy, sick = self.host.ready["healthy"][self.cause], self.host.clients()
        _tell(
            f"Clients: p99 {_ms(healthy)} before, {_ms(sick)} now; {_bad(healthy):.0f} % and {_bad(sick):.0f} % fail."
        )
        name = diagnosis["host"]["name"]
        symptom = {
            "service": name,
            "says": f"Demo: {illness}.",
            "latency": {"before": healthy.get("p99_ms"), "after": sick.get("p99_ms"), "unit": "ms"},
            "errors": {"before": _bad(healthy), "after": _bad(sick), "unit": "%"},
            "since": diagnosis["created_at"],
        }
        title = f"Demo: {name} answers late or not at all"
        body = {"title": title, "severity": 2, "symptom": symptom, "diagnosis_id": diagnosis["id"]}
        self.incident = self.server.post("/incidents", body, **_once())
        causes = [f"{one['id']} ({one['confidence']})" for one in diagnosis["result"]["causes"]]
        _tell(f"INC-{self.incident['number']}: the rules name {', '.join(causes) or 'nothing'}.")
        _tell(f"Watch it here: {self.server.target.url}/incidents/{self.incident['id']}")
        self._change("patch", "", {"state": "investigating"})

    # -- the chain ------------------------------------------------------------------------------------------------

    def _collect(self) -> None:
        """Takes what the chain proposes, as long as a capture can answer it."""
        for _ in range(MAX_STEPS):
            step = self.incident["next"]
            if not step or not step["collectors"]:
                break
            cost = f"{step['tier']} tier, {step['cost']['seconds']} s"
            _tell(f"Next: {step['step']}: {', '.join(step['collectors'])} ({cost})")
            try:
                self._change("post", "/step", {"step": step["step"], "host_id": step["host_id"]})
            except Stop as refused:
                if refused.status is not Exit.REFUSED:
                    raise
                _tell(f"A person would be asked now, so this step stays open: {refused.message}")
                break
            self._wait(lambda one: all(run["state"] in RUN_FINAL for run in one["runs"]))

    def _conclude(self, hypothesis: Json) -> None:
        """A person's verdict on the steps that speak for the cause, each with the line that proves it."""
        for step in [one for one in self.incident["steps"] if one["key"] in hypothesis["supports"]]:
            seen = next((one for one in step["hosts"] if _proof(one["findings"], step["key"])), None)
            if seen is None:
                continue
            self._change("post", "/pins", _proof(seen["findings"], step["key"]) or {})
            pins = [self.incident["made"]]
            said = {"step": step["key"], "host_id": seen["host_id"], "verdict": "supports", "pins": pins}
            self._change("post", "/verdicts", said)
            _tell(f"Verdict: {step['asks']['en']} Yes, by the line that it cites.")
        self._decide(hypothesis, "likely", "the rules, and the cited lines")
        self._change("patch", "", {"state": "identified"})

    def _decide(self, hypothesis: Json, state: str, note: str) -> None:
        self._change("patch", f"/hypotheses/{hypothesis['id']}", {"state": state, "note": note})

    # -- the fix --------------------------------------------------------------------------------------------------

    def _fix(self, hypothesis: Json) -> Json:
        """Measures before it, takes the fault away while the load goes on, and lets the server measure and compare."""
        what = {
            "hypothesis_id": hypothesis["id"],
            "what": f"Undo it: {self.host.ready['says'][0]}",
            "host_ids": [self.host_id],
            "risk": "None: it is a host of the lab.",
            "way_back": "Run the demo again.",
        }
        self._change("post", "/fixes", what)
        name = self.incident["made"]
        fix = f"/fixes/{name}"
        self._change("post", f"{fix}/verify", {"kind": "plain"})
        read = (hypothesis["primary"] or {}).get("read", "nothing")
        _tell(f"Before the fix: {read} is measured, a capture at a time …")
        self._wait(lambda one: _verification(one, name)["state"] != "before", JUDGED_S)
        if _verification(self.incident, name)["state"] != "waiting":
            why = sentence(_verification(self.incident, name)["failure"])
            raise Stop(Exit.FAILED, f"It could not be measured before the fix: {why}")
        self.host.ask(f"cure {self.cause}")
        self._change("patch", fix, {"state": "applied"})
        self._change("patch", "", {"state": "mitigated"})
        _tell("The fault is gone; the same captures again, under the same load …")
        self._wait(lambda one: _judged(_fix_of(one, name)), JUDGED_S)
        return _fix_of(self.incident, name)

    def _close(self, hypothesis: Json) -> None:
        self._decide(hypothesis, "confirmed", "the fix was verified")
        self._leave(hypothesis)
        self._change("patch", "", {"state": "resolved"})
        _tell(f"INC-{self.incident['number']} is resolved: {self.cause}, confirmed by the fix.")

    def _leave(self, hypothesis: Json) -> None:
        """What is still asked: of the cause's own playbook waived by name, of any other set aside with it."""
        reason = "the verified fix answers it: the same load is well again"
        own = hypothesis["key"].partition("/")[0]
        for book in dict.fromkeys(one.partition("/")[0] for one in self.incident["gaps"]):
            steps = [one for one in self.incident["gaps"] if one.startswith(f"{book}/")]
            if book in {own, "own"}:
                self._change("post", "/waivers", {"steps": steps, "reason": reason})
                _tell(f"Left unanswered, with the reason: {', '.join(steps)}")
            else:
                self._change("patch", f"/playbooks/{book}", {"aside": True, "reason": reason})
                _tell(f"Set aside, with the reason: {book}, which still asked {len(steps)} steps.")

    # -- speaking to the server -----------------------------------------------------------------------------------

    def _change(self, method: str, path: str, body: Json) -> None:
        """One change to the incident as it is now; somebody else's in between is looked at again first."""
        where = f"/incidents/{self.incident['id']}"
        for left in range(4, -1, -1):
            sent = {**body, "version": self.server.get(where)["version"]}
            try:
                if method == "patch":
                    self.incident = self.server.patch(where + path, sent)
                else:
                    self.incident = self.server.post(where + path, sent, **_once())
            except Stop:
                if not left or self.server.get(where)["version"] == sent["version"]:
                    raise
            else:
                return

    def _wait(self, done: Callable[[Json], bool], seconds: float = WAIT_S) -> None:
        where = f"/incidents/{self.incident['id']}"
        self.incident = _until(lambda: self.server.get(where), done, seconds)


def _fix_of(incident: Json, fix: str) -> Json:
    found: Json = next(one for one in incident["fixes"] if one["id"] == fix)
    return found


def _verification(incident: Json, fix: str) -> Json:
    found: Json = _fix_of(incident, fix)["verifications"][-1]
    return found


def _judged(fix: Json) -> bool:
    return all(one["state"] in {"done", "failed", "cancelled"} for one in fix["verifications"])


def _proof(findings: list[Json], step: str) -> Json | None:
    """A pin on the first line that a number of these was read from."""
    cites = (cite for one in findings for number in one["numbers"] for cite in number["citations"])
    cite = next((one for one in cites if one["artifact"] and one["lines"]), None)
    if cite is None:
        return None
    ref = {"artifact_id": cite["artifact"], "part": cite["part"], "lines": cite["lines"][:4]}
    return {
        "kind": "line",
        "ref": ref,
        "view": f"/artifacts/{cite['artifact']}?line={cite['lines'][0]}",
        "step": step,
    }


def _until(ask: Callable[[], Json], done: Callable[[Json], bool], seconds: float = WAIT_S) -> Json:
    """Asks until it is done. Raises Stop after `seconds`."""
    end = time.monotonic() + seconds
    while not done(read := ask()):
        if time.monotonic() > end:
            raise Stop(Exit.TIMED_OUT, f"Waited {seconds:.0f} s in vain; what there is stays.")
        time.sleep(POLL_S)
    return read


def _once() -> dict[str, str]:
    return {"Idempotency-Key": str(uuid4())}


def _tell(text: str) -> None:
    say_to(sys.stdout, text)


def _ms(seen: Json) -> str:
    value = seen.get("p99_ms")
    return "no answer" if value is None else f"{value:.0f} ms"


def _bad(seen: Json) -> float:
    failed, requests = float(seen["errors"] + seen["timeouts"]), float(seen["requests"])
    return round(100.0 * failed / max(1.0, requests), 1)
