"""Requests for each route of the authorization table, with the rows that they need."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from culprit.infra.artifacts.store import make_store
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.analysis.diagnosis import Diagnosis
from culprit.infra.models.analysis.finding_mute import FindingMute
from culprit.infra.models.automation.maintenance_window import MaintenanceWindow
from culprit.infra.models.automation.schedule import Schedule
from culprit.infra.models.automation.schedule_host import ScheduleHost
from culprit.infra.models.automation.watcher import Watcher
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.function_disassembly import FunctionDisassembly
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.profile_comparison import ProfileComparison
from culprit.infra.models.evidence.reported_event import ReportedEvent
from culprit.infra.models.evidence.reported_event_host import ReportedEventHost
from culprit.infra.models.hosts.credential import Credential
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.hosts.preflight import Preflight
from culprit.infra.models.incidents.fix import Fix
from culprit.infra.models.incidents.hypothesis import Hypothesis
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.incident_comment import IncidentComment
from culprit.infra.models.incidents.incident_host import IncidentHost
from culprit.infra.models.incidents.pin import Pin
from culprit.infra.models.incidents.step_verdict import StepVerdict
from culprit.infra.models.notifications.rotation import Rotation
from culprit.infra.models.reports.report import Report
from culprit.infra.models.reports.report_share import ReportShare
from culprit.infra.settings import Settings
from culprit.tests.support.reports import frozen
from culprit.tests.support.route_table import API, PUBLIC, TABLE
from fastapi.testclient import TestClient


@dataclass
class Seeds:
    """IDs of one host and of everything that belongs to it."""

    ids: dict[str, str]

    def fill(self, value: Any) -> Any:
        """Replace {names} by IDs at every depth."""
        if isinstance(value, str):
            for name, item in self.ids.items():
                value = value.replace("{" + name + "}", item).replace("{" + name + "_id}", item)
            return value
        if isinstance(value, dict):
            return {name: self.fill(item) for name, item in value.items()}
        return [self.fill(item) for item in value] if isinstance(value, list) else value


def seed(config: Settings, db: Database, owner: object, labels: dict[str, str]) -> Seeds:
    """Create a host with a finished capture, a running one, an artifact, a profile and a comparison."""
    sha256 = make_store(config).put([b"some bytes\n"], 1000).sha256
    with unit_of_work(db.sessions) as session:
        credential = Credential(name=f"c {labels}", kind="agent")
        session.add(credential)
        session.flush()
        host = Host(name="h-" + labels["role"], address="10.9.9.9", username="u", labels=labels,
                    credential_id=credential.id)  # fmt: skip
        capture = Capture(plan="triage", state="done", requested_by=owner)
        session.add_all([host, capture])
        session.flush()
        run = Run(capture_id=capture.id, host_id=host.id, state="done")
        session.add_all([run, Preflight(host_id=host.id, state="done")])
        session.flush()
        collector = RunCollector(run_id=run.id, collector="vmstat", state="done")
        session.add(collector)
        session.flush()
        artifact = Artifact(run_id=run.id, run_collector_id=collector.id, part="stdout", sha256=sha256,
                            size=11, stored_size=11)  # fmt: skip
        profile = Profile(run_id=run.id, host_id=host.id, kind="on_cpu", state="queued")
        session.add_all([artifact, profile])
        session.flush()
        side = {"profile_id": str(profile.id), "filter": {}}
        comparison = ProfileComparison(a=side, b=side, requested_by=owner)
        disassembly = FunctionDisassembly(profile_id=profile.id, function="f", requested_by=owner)
        diagnosis = Diagnosis(host_id=host.id, seconds=8, state="done")
        incident = Incident(title="i", window_from=utc_now(), created_by=owner)
        mute = FindingMute(host_id=host.id, rule="F-CPU-X", reason="known", expires_at=utc_now())
        schedule = Schedule(
            name=f"s {labels}",
            kind="cron",
            cron="0 * * * *",
            zone="UTC",
            capture={"plan": "baseline"},
            owner_id=owner,
            state="paused",
        )
        window = MaintenanceWindow(
            host_id=host.id,
            starts_at=utc_now() - timedelta(hours=1),
            ends_at=utc_now() + timedelta(hours=1),
            reason="r",
        )
        rotation = Rotation(name=f"r {labels}", kind="calendar")
        watcher = Watcher(
            kind="lookback",
            host_id=host.id,
            lookback_s=60,
            lookback_bytes=1 << 20,
            expires_at=utc_now(),
            state="expired",
            ended_at=utc_now(),
        )
        event = ReportedEvent(t_ns=1, kind="note", what="x", target={"kind": "hosts"}, reported_by=owner)
        session.add_all(
            [comparison, disassembly, diagnosis, incident, mute, schedule, window, rotation, watcher, event]
        )
        session.flush()
        session.add(ReportedEventHost(reported_event_id=event.id, host_id=host.id))
        comment = IncidentComment(incident_id=incident.id, text="x", by=owner)
        hypothesis = Hypothesis(incident_id=incident.id, key="own/1", summary={"en": "x", "zh": "x"})
        verdict = StepVerdict(incident_id=incident.id, step="own/1", hypothesis="own/1", verdict="supports")
        pin = Pin(incident_id=incident.id, kind="line", ref={}, view="/", snapshot={"hosts": [str(host.id)]})
        link = IncidentHost(incident_id=incident.id, host_id=host.id)
        named = ScheduleHost(schedule_id=schedule.id, host_id=host.id)
        session.add_all([hypothesis, verdict, pin, link, named, comment])
        session.flush()
        fix = Fix(incident_id=incident.id, what="x")
        report = Report(incident_id=incident.id, title="r", kinds=[], words=[], follow_ups=[])
        session.add_all([fix, report])
        session.flush()
        version = frozen(report.id, [str(host.id)])
        session.add(version)
        session.flush()
        share = ReportShare(version_id=version.id, token_hash=host.id.bytes, expires_at=utc_now())
        session.add(share)
        session.flush()
        rows = {"host": host, "capture": capture, "run": run, "artifact": artifact, "profile": profile,
                "comparison": comparison, "disassembly": disassembly, "diagnosis": diagnosis, "incident": incident, "hypothesis": hypothesis,
                "verdict": verdict, "pin": pin, "fix": fix, "mute": mute, "schedule": schedule,
                "window": window, "rotation": rotation, "event": event, "report": report, "version": version,
                "share": share, "comment": comment, "watcher": watcher}  # fmt: skip
        ids = {name: str(row.id) for name, row in rows.items()}
    ids |= {name: str(new_uuid7()) for name in (
        "user", "token", "credential", "rule", "service", "threshold", "override", "switch", "trigger",
        "unattended_tier", "channel", "notification", "annotation", "upload", "check",
    )}  # fmt: skip
    ids["playbook"] = "connect-port-exhaustion"
    return Seeds(ids)


def ask(client: TestClient, seeds: Seeds, route: tuple[str, str]) -> int:
    """Return the status of a route for a valid body."""
    method, path = route
    _, body, query, _ = TABLE.get(route, ("", PUBLIC.get(route), "", False))
    # An ID without a row is any ID: it is not found, where the role permits the route.
    url = API + re.sub(r"\{\w+_id\}", str(new_uuid7()), seeds.fill(path)) + seeds.fill(query)
    if route == ("POST", "/imports"):
        return client.post(url, data=body, files={"file": ("x.folded", b"a;b 1\n")}).status_code
    if route == ("POST", "/incidents/import"):
        return client.post(url, files={"file": ("x.zip", b"no bundle")}).status_code
    if method == "PUT" and path.endswith("/calendar"):
        return client.put(url, files={"file": ("x.ics", b"no calendar")}).status_code
    return client.request(method, url, **({} if body is None else {"json": seeds.fill(body)})).status_code
