"""Requests of verification benchmarks to a platform: captures like those of a verification, and a complete one."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from culprit.analysis.playbooks.library import load_catalog
from culprit.captures.service_collectors import LOG
from culprit.domain.playbooks.engine import TIER_COST
from culprit.domain.verification import primary_number
from culprit.incidents.records.from_diagnosis import select_playbooks, select_primary_number
from culprit.jobs.verification.measure_before import PLAN
from culprit.json_types import Json

from bench.accuracy.score_client import SCOPES, PlatformClient
from collectors.contract import Tier
from collectors.plans import PLANS
from collectors.registry import COLLECTORS
from lab.scenario import Live

CAPTURE_S, VERIFICATION_S = 180.0, 2400.0
#: Measures the utilization of the CPUs, which limits what a change of the load explains.
UTILIZATION = "cpu_stat"


@dataclass(frozen=True, slots=True)
class HostCapture:
    """What a window is measured with: the host, the scope of the incident, and the numbers that must be in it."""

    host_id: str
    scope: Mapping[str, str]
    seconds: int
    reads: Sequence[str]


def list_cause_numbers(causes: Sequence[str]) -> list[tuple[str, str]]:
    """List the numbers (read, better) by which an incident with these causes judges a fix, as it selects them."""
    numbers: dict[str, str] = {}
    for cause in causes:
        primaries = [
            hypothesis.primary
            for name in select_playbooks([cause])
            for hypothesis in load_catalog()[name].hypotheses
            if hypothesis.cause == cause and hypothesis.primary
        ]
        numbers.update({primary.read: primary.better for primary in primaries})
        if not primaries and (own := select_primary_number(cause)):
            numbers[own["read"]] = own["better"]
    return list(numbers.items())


def select_collectors(reads: Sequence[str]) -> list[str]:
    """Return what a verification collects that enters its judgment by these numbers, without the log of the service.

    A verification runs all of triage, which is read for 10 to 20 s after each capture when two CPUs are busy. Of each
    kind that a number needs, it is the collector of triage, else the cheapest.
    """
    selected = {UTILIZATION}
    triage = {collector.id for collector in PLANS[PLAN].collectors}
    for read in reads:
        for any_of in primary_number.list_collectors(read):
            known = [
                item for item in any_of if item in COLLECTORS and COLLECTORS[item].tier is not Tier.PTRACE
            ]
            if known and not set(known) & {*selected, LOG}:
                selected.add(
                    min(known, key=lambda item: (item not in triage, TIER_COST[COLLECTORS[item].tier]))
                )
    return sorted(selected)


def capture_window(platform: PlatformClient, capture: HostCapture) -> str | None:
    """Take one capture over SSH. Return its run, or None if that has no results. Raises TimeoutError."""
    body: Json = {
        "host_ids": [capture.host_id],
        "plan": PLAN,
        "seconds": capture.seconds,
        "collectors": select_collectors(capture.reads),
        "reason": "a window of a benchmark",
    }
    for name, value in capture.scope.items():
        body["scope"] = {"kind": SCOPES[name], "value": str(value)}
    return platform.take_capture(body, CAPTURE_S)


def verify_by_platform(
    platform: PlatformClient, host_id: str, live: Live, read: str, kind: str
) -> tuple[dict[str, dict[str, float]], Json]:
    """Verify a fix in an incident, as a user does it, and remove the fault when the platform waits for that.

    Returns what the clients saw with the fault and without it, and the stored result.
    Raises RuntimeError, TimeoutError.
    """
    incident = platform.post("/incidents", {"title": "Benchmark", "hosts": [_build_suspect(host_id, live)]})
    where = f"/incidents/{incident['id']}"
    primary = {"read": read, "better": "lower"}
    created = _change_incident(platform, where, "/hypotheses", {"summary": "The fault", "primary": primary})
    fix = {"hypothesis_id": created["created_id"], "what": "Remove the fault", "host_ids": [host_id]}
    fix_id = _change_incident(platform, where, "/fixes", fix)["created_id"]
    _change_incident(platform, where, f"/fixes/{fix_id}/verify", {"kind": kind})
    live.mark()
    clients: dict[str, dict[str, float]] = {}
    for verification, is_applied in _follow_verification(platform, where, fix_id):
        side = "after" if is_applied else "before"
        if verification["state"] == "done":
            clients[side] = live.stats()
            return clients, dict(verification["result"])
        if verification["state"] in {"failed", "canceled"}:
            raise RuntimeError(f"the verification is {verification['state']}: {verification['failure']}")
        if verification["state"] == "waiting":
            clients[side] = live.stats()
            toggle = live.inject if is_applied else live.repair
            assert toggle is not None
            toggle()
            state = "reverted" if is_applied else "applied"
            _change_incident(platform, where, f"/fixes/{fix_id}", {"state": state}, method="PATCH")
            live.mark()
    raise TimeoutError(f"the verification takes more than {VERIFICATION_S:.0f} s")


def _build_suspect(host_id: str, live: Live) -> Json:
    host: Json = {"host_id": host_id, "role": "suspect"}
    for name, value in live.scope.items():
        host["scope"] = {"kind": SCOPES[name], "value": str(value)}
    return host


def _follow_verification(platform: PlatformClient, where: str, fix_id: str) -> Iterator[tuple[Json, bool]]:
    """Yield the verification every second, and whether the fix is applied."""
    end = time.monotonic() + VERIFICATION_S
    while time.monotonic() < end:
        time.sleep(1.0)
        fixes = platform.get(where)["fixes"]
        fix = next(item for item in fixes if item["id"] == fix_id)
        yield fix["verifications"][-1], fix["state"] not in {"planned", "reverted"}


def _change_incident(
    platform: PlatformClient, where: str, path: str, body: Json, *, method: str = "POST"
) -> Json:
    """Change an incident, again after a conflict with what the platform wrote in the meantime."""
    send = platform.patch if method == "PATCH" else platform.post
    for _ in range(4):
        version = platform.get(where)["version"]
        with suppress(RuntimeError):
            return dict(send(where + path, {**body, "version": version}))
        if platform.get(where)["version"] == version:
            break
    return dict(send(where + path, {**body, "version": platform.get(where)["version"]}))
