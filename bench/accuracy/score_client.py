"""HTTP client of the score: requests to the platform, and the check of every cited number."""

from __future__ import annotations

import gzip
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx2
import zstandard
from culprit.domain.rules.finding import MissingData
from culprit.domain.rules.readings import take_reading
from culprit.domain.rules.registry import RULES
from culprit.domain.rules.rule import MetricReading
from culprit.domain.rules.view import HostView
from culprit.domain.runs.states import CAPTURE_FINAL
from culprit.json_types import Json

from bench.accuracy.corpus import StoredRun
from lab.hosts import LabHost

SCOPES = {
    "pid": "process",
    "cgroup": "cgroup",
    "container": "container",
    "service": "service",
    "port": "port",
}
TIMEOUT_S = 240.0
USEFUL_STATES = ("done", "partial")
#: Maximum relative rounding difference between a stored number (float32 chunks) and that of the parser (float64).
TOLERANCE = 1e-4


#: Any valid clock: rates and waits do not depend on the time of the capture.
ANY_CLOCK = {
    "bt0": "0",
    "bt1": "0",
    "m0": "0",
    "m1": "0",
    "real": "1767225600000000000",
    "res": "1",
    "src": "date",
}

#: {kind of profile: (collector, name of the text part, its export format)}.
STACK_PARTS = {
    "on_cpu": ("perf_record", "script.txt", "perf_script"),
    "page_faults": ("pagefault_stacks", "script.txt", "perf_script"),
    "off_cpu": ("offcpu", "offcpu.folded", "folded"),
}


@dataclass(slots=True)
class NumberCheck:
    """The number of cited and reproduced numbers, and a description of each number that is not reproduced."""

    cited: int = 0
    reproduced: int = 0
    failures: list[str] = field(default_factory=list)


class PlatformClient:
    """Client of a running platform with the token of an administrator."""

    def __init__(self, url: str, token: str) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        # One connection per request: the server closes idle ones, and a packet flood of the lab can delay the FIN.
        limits = httpx2.Limits(max_keepalive_connections=0)
        base = f"{url.rstrip('/')}/api/v1"
        self.http = httpx2.Client(base_url=base, headers=headers, timeout=60, limits=limits)
        self.networks: set[str] = set()

    def get(self, path: str, **query: Any) -> Any:
        """Send a GET request. Return the JSON of the response. Raises HTTPStatusError."""
        return self.http.get(path, params=query).raise_for_status().json()

    def post(self, path: str, body: Json) -> Any:
        """Send a POST request. Return the JSON of the response. Raises RuntimeError."""
        answer = self.http.post(path, json=body)
        if answer.is_error:
            raise RuntimeError(f"{path}: {answer.text[:300]}")
        return answer.json()

    def patch(self, path: str, body: Json) -> Any:
        """Send a PATCH request. Return the JSON of the response. Raises RuntimeError."""
        answer = self.http.patch(path, json=body)
        if answer.is_error:
            raise RuntimeError(f"{path}: {answer.text[:300]}")
        return answer.json()

    def delete(self, path: str) -> None:
        """Send a DELETE request. Raises HTTPStatusError."""
        self.http.delete(path).raise_for_status()

    def declare_service(self, name: str, path: str) -> str:
        """Declare the service of a lab host with its access log. Return the ID of the service."""
        source = {"kind": "access_log", "path": path, "format": "lab"}
        result = self.post("/services", {"name": name, "selector": {"lab": name}, "source": source})
        return str(result["id"])

    def add_host(self, host: LabHost, name: str) -> str:
        """Add a lab host with its address and trusted host key. Return its ID."""
        network = f"{host.address}/32"
        if network not in self.networks:
            self.post("/network-rules", {"cidr": network, "port_from": 1, "port_to": 65535})
            self.networks.add(network)
        body = {
            "name": name, "address": host.address, "port": host.port, "username": host.user,
            "credential": {"kind": "key", "private_key": host.key.read_text()},
            "host_key_fingerprint": host.fingerprint, "labels": {"lab": name},
        }  # fmt: skip
        return str(self.post("/hosts", body)["id"])

    def delete_quietly(self, path: str) -> None:
        """Delete an object of a round (/hosts/ID, /services/ID). Ignore error responses."""
        self.http.delete(path)

    def take_capture(self, body: Json, timeout_s: float = TIMEOUT_S) -> str | None:
        """Take one capture of one host. Return its run, or None if that has no results. Raises TimeoutError."""
        state = self.post("/captures", body)
        end = time.monotonic() + timeout_s
        while state["state"] not in CAPTURE_FINAL:
            if time.monotonic() > end:
                raise TimeoutError(f"capture {state['id']} is {state['state']}")
            time.sleep(0.3)
            state = self.get(f"/captures/{state['id']}")
        run = state["runs"][0]
        return str(run["id"]) if run["state"] in USEFUL_STATES else None

    def capture_baseline(self, host_id: str, seconds: int) -> str:
        """Run the plan `baseline`. Return its run. Raises TimeoutError, RuntimeError."""
        body = {"host_ids": [host_id], "plan": "baseline", "seconds": seconds, "reason": "before the fault"}
        run = self.take_capture(body)
        if run is None:
            raise RuntimeError("the capture of the baseline has no results")
        return run

    def diagnose(self, host_id: str, scope: Mapping[str, str], seconds: int, baseline: str = "auto") -> Json:
        """Diagnose a host and return the finished diagnosis. `baseline` is "auto" or a run. Raises TimeoutError."""
        body: Json = {"host_id": host_id, "seconds": seconds, "baseline": baseline}
        for name, value in scope.items():
            body["scope"] = {"kind": SCOPES[name], "value": str(value)}
        read = self.post("/diagnoses", body)
        end = time.monotonic() + TIMEOUT_S
        while read["state"] == "running":
            if time.monotonic() > end:
                raise TimeoutError(f"diagnosis {read['id']}: {read['stages']}")
            time.sleep(0.3)
            read = self.get(f"/diagnoses/{read['id']}")
        return dict(read)

    def list_findings(self, runs: Sequence[str]) -> list[Json]:
        """Return the findings of every rule for each run, and how long the evaluation took."""
        return [self.get(f"/runs/{run}/findings") for run in runs]

    def check_numbers(self, result: Json, stored: Sequence[StoredRun], whole: HostView) -> NumberCheck:
        """Reproduce every number of the named causes from the bytes of the artifacts that it cites.

        `whole` are all stages as one view, with the baseline: comparisons with it need both.
        """
        check = NumberCheck()
        runs = [run.parse() for run in stored]
        by_run = dict(zip(result["runs"], runs, strict=True))
        numbers = [item for cause in result["causes"] for item in cause["evidence"]]
        for number in numbers:
            check.cited += 1
            # A number over all stages can only be reproduced from all of them together.
            views = (whole, by_run.get(number["locator"].get("run", ""), whole))
            why = min((self._check_number(number, view) for view in views), key=len)
            if why:
                check.failures.append(f"{number['finding']} {number['metric']}: {why}")
            else:
                check.reproduced += 1
        return check

    def _check_number(self, item: Json, view: HostView) -> str:
        """Return "" if the number is reproduced, else a description of the problem."""
        if not item["artifact"]:
            return "cites nothing"
        lines = item["locator"].get("lines", [])
        if not lines and not item["locator"].get("profile"):
            return "cites no line"
        for line in lines[:4]:
            message = self.get(f"/artifacts/{item['artifact']}/lines", **{"from": line, "count": 1})
            if not message["lines"] or not message["lines"][0].strip():
                return f"line {line} is empty"
        reads = {read.id: read for read in RULES[item["finding"]].inputs()}
        read = reads.get(item["metric"])
        if read is None:
            return "is no number of its rule"
        again = take_reading(view, read)
        if isinstance(again, MissingData):
            return f"cannot be read again ({again.reason.key})"
        subject = tuple(sorted(item["subject"].items()))
        values = [
            each.value
            for each in again
            if isinstance(read, MetricReading) or each.subject == subject or not subject
        ]
        values += [each.value for each in again]
        if any(math.isclose(value, item["value"], rel_tol=TOLERANCE, abs_tol=1e-6) for value in values):
            return ""
        return f"{item['value']:.6g} is not among {[round(value, 4) for value in values[:5]]}"

    def download(self, run_id: str) -> StoredRun:
        """Return a run with the bytes of its artifacts, and profiles that the server symbolized as exported text."""
        run = self.get(f"/runs/{run_id}")
        parts: dict[str, dict[str, bytes]] = {}
        for artifact in run["artifacts"]:
            if artifact["collector"]:
                content = self.http.get(f"/artifacts/{artifact['id']}/content").raise_for_status().content
                parts.setdefault(artifact["collector"], {})[artifact["part"]] = decompress_artifact(
                    content, artifact["encoding"]
                )
        for profile in run["profiles"]:
            collector, part, form = STACK_PARTS.get(profile["kind"], ("", "", ""))
            own = parts.get(collector, {})
            if "perf.data" in own and part not in own and profile["state"] == "ready":
                path = f"/profiles/{profile['id']}/export"
                own[part] = self.http.get(path, params={"format": form}).raise_for_status().content
        return StoredRun.of_response(run, parts)


def decompress_artifact(data: bytes, encoding: str) -> bytes:
    """Return the decompressed bytes of an artifact."""
    if encoding == "gzip":
        return gzip.decompress(data)
    if encoding == "zstd":
        return zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return data
