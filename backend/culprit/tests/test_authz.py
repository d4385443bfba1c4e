"""Every route × every principal. A route that is not in the table below fails: decide who may, and add it.

For each route the lowest role is named; whoever is below it gets 403 (nobody at all: 401), everybody from it
on gets in, which is any answer but 401 and 403. On a host out of the principal's scope every answer is 404.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from culprit.auth.actor import Actor, rank
from culprit.auth.policy import ACTIONS, allowed, in_scope, policy, visible
from culprit.config import Settings
from culprit.infra.artifacts import make_store
from culprit.infra.db import Database
from culprit.kit.clock import now
from culprit.kit.errors import CulpritError
from culprit.kit.unit_of_work import unit_of_work
from culprit.kit.uuid7 import uuid7
from culprit.models import (
    Annotation,
    AnnotationHost,
    Artifact,
    Capture,
    Credential,
    Diagnosis,
    FindingMute,
    Fix,
    Host,
    Hypothesis,
    Incident,
    IncidentComment,
    IncidentHost,
    MaintenanceWindow,
    Pin,
    Preflight,
    Profile,
    ProfileDiff,
    Report,
    ReportShare,
    Rotation,
    Run,
    RunCollector,
    Schedule,
    ScheduleHost,
    Standby,
    StepVerdict,
)
from culprit.tests.conftest import PASSWORD
from culprit.tests.support.reports import frozen
from fastapi import FastAPI
from fastapi.testclient import TestClient

API = "/api/v1"
PRINCIPALS = ("nobody", "viewer", "investigator", "oncall", "admin")
PUBLIC = {
    ("POST", "/session"): {"name": "x", "password": "y"},
    ("POST", "/session/link"): {"token": "x"},
    ("POST", "/triggers/{trigger_id}/alerts"): {"title": "x"},
    ("GET", "/pictures/{token}"): None,
    ("POST", "/session/oidc"): {},
    ("GET", "/session/oidc/callback"): None,
    ("GET", "/session/ways"): None,
}
# What those answer who prove nothing.
REFUSALS = {"auth.wrong_password", "auth.link_over", "trigger.refused", "notice.no_picture", "signon.off"}
# These tell everybody the same, or lead to the login page.
OPEN = {("GET", "/session/ways"): 200, ("GET", "/session/oidc/callback"): 303}
# What no API token may: the table is asked with a session that was proved just now.
SESSIONS = {
    ("POST", "/session/proof"),
    ("POST", "/session/oidc/proof"),
    ("POST", "/users"),
    ("PATCH", "/users/{user_id}"),
    ("POST", "/tokens"),
    ("DELETE", "/tokens/{token_id}"),
    ("PUT", "/oidc-provider"),
    ("DELETE", "/oidc-provider"),
}
FINGERPRINT = "SHA256:" + "A" * 43
CAPTURE = {"host_ids": ["{host}"], "plan": "triage"}
HOURLY = {"kind": "cron", "cron": "0 * * * *", "zone": "UTC"}
# (method, path): (lowest role, body, query, whether it is about one host)
TABLE: Mapping[tuple[str, str], tuple[str, Any, str, bool]] = {
    ("DELETE", "/session"): ("viewer", None, "", False),
    ("POST", "/session/proof"): ("viewer", {"password": PASSWORD}, "", False),
    ("POST", "/session/oidc/proof"): ("viewer", {}, "", False),
    ("GET", "/me"): ("viewer", None, "", False),
    ("PATCH", "/me"): ("viewer", {}, "", False),
    ("GET", "/session/oidc/end"): ("viewer", None, "", False),
    ("GET", "/oidc-provider"): ("admin", None, "", False),
    ("PUT", "/oidc-provider"): (
        "admin",
        {"name": "n", "issuer": "https://10.0.0.1", "client_id": "c", "client_secret": "s"},
        "",
        False,
    ),
    ("DELETE", "/oidc-provider"): ("admin", None, "", False),
    ("POST", "/oidc-provider/check"): ("admin", None, "", False),
    ("GET", "/users"): ("admin", None, "", False),
    ("POST", "/users"): ("admin", {"name": "new", "role": "viewer"}, "", False),
    ("PATCH", "/users/{user_id}"): ("admin", {}, "", False),
    ("GET", "/tokens"): ("viewer", None, "", False),
    ("POST", "/tokens"): ("viewer", {"name": "t"}, "", False),
    ("DELETE", "/tokens/{token_id}"): ("viewer", None, "", False),
    ("GET", "/storage"): ("admin", None, "", False),
    ("PATCH", "/storage/policy"): ("admin", {"kind": "recordings", "days": 36500}, "", False),
    ("POST", "/storage/policy/preview"): ("admin", {"kind": "recordings", "days": 36500}, "", False),
    ("POST", "/storage/looks"): ("admin", {"kind": "check"}, "", False),
    ("GET", "/storage/looks/{look_id}"): ("admin", None, "", False),
    ("POST", "/storage/mend"): ("admin", None, "", False),
    ("GET", "/audit"): ("admin", None, "", False),
    ("GET", "/audit/chain"): ("admin", None, "", False),
    ("GET", "/hosts"): ("viewer", None, "", False),
    ("POST", "/hosts"): (
        "admin",
        {"name": "n", "address": "10.0.0.1", "username": "u", "credential": {"kind": "agent"}},
        "",
        False,
    ),
    ("POST", "/hosts/scan-key"): ("admin", {"address": "10.0.0.1"}, "", False),
    ("POST", "/hosts/import"): ("admin", {"format": "csv", "text": ""}, "", False),
    ("GET", "/hosts/{host_id}"): ("viewer", None, "", True),
    ("PATCH", "/hosts/{host_id}"): ("admin", {}, "", True),
    ("DELETE", "/hosts/{host_id}"): ("admin", None, "", True),
    ("POST", "/hosts/{host_id}/pin"): ("admin", {"fingerprint": FINGERPRINT, "reason": "because"}, "", True),
    ("POST", "/hosts/{host_id}/check"): ("investigator", None, "", True),
    ("GET", "/hosts/{host_id}/preflight"): ("viewer", None, "", True),
    ("GET", "/hosts/{host_id}/timeline"): ("viewer", None, "?from_ns=0&to_ns=1000000000", True),
    ("GET", "/hosts/{host_id}/timeline/overview"): ("viewer", None, "", True),
    ("GET", "/cite"): ("investigator", None, "?host_id={host}&metric=cpu.busy&t_ns=1", True),
    ("GET", "/credentials"): ("admin", None, "", False),
    ("POST", "/credentials"): ("admin", {"name": "c", "kind": "agent"}, "", False),
    ("DELETE", "/credentials/{credential_id}"): ("admin", None, "", False),
    ("GET", "/network-rules"): ("admin", None, "", False),
    ("POST", "/network-rules"): ("admin", {"cidr": "10.0.0.0/8"}, "", False),
    ("DELETE", "/network-rules/{rule_id}"): ("admin", None, "", False),
    ("GET", "/services"): ("viewer", None, "", False),
    ("POST", "/services"): ("admin", {"name": "s", "selector": {"role": "feed"}}, "", False),
    ("GET", "/services/{service_id}"): ("viewer", None, "", False),
    ("PATCH", "/services/{service_id}"): ("admin", {}, "", False),
    ("DELETE", "/services/{service_id}"): ("admin", None, "", False),
    ("POST", "/services/{service_id}/check"): ("admin", None, "", False),
    ("POST", "/demo/busy"): ("investigator", {"seconds": 1}, "", False),
    ("POST", "/captures/preview"): ("viewer", CAPTURE, "", True),
    ("POST", "/captures"): ("investigator", CAPTURE, "", True),
    ("GET", "/captures"): ("viewer", None, "", False),
    ("GET", "/captures/{capture_id}"): ("viewer", None, "", True),
    ("POST", "/captures/{capture_id}/cancel"): ("investigator", None, "", True),
    ("GET", "/captures/{capture_id}/progress"): ("viewer", None, "", True),
    ("GET", "/collectors"): ("viewer", None, "", False),
    ("GET", "/metric-catalogue"): ("viewer", None, "", False),
    ("GET", "/plans"): ("viewer", None, "", False),
    ("GET", "/runs/{run_id}"): ("viewer", None, "", True),
    ("GET", "/runs/{run_id}/series"): ("viewer", None, "", True),
    ("GET", "/runs/{run_id}/events"): ("viewer", None, "", True),
    ("GET", "/runs/{run_id}/sched"): ("viewer", None, "", True),
    ("GET", "/runs/{run_id}/sched/lanes"): ("viewer", None, "", True),
    ("GET", "/runs/{run_id}/findings"): ("viewer", None, "", True),
    ("GET", "/hosts/{host_id}/findings"): ("viewer", None, "", True),
    ("GET", "/grafana/annotations"): ("viewer", None, "?from=0&to=1", False),
    ("GET", "/metrics/rules"): ("viewer", None, "", False),
    ("GET", "/fleet/use"): ("viewer", None, "", False),
    ("GET", "/fleet/peers"): ("viewer", None, "", False),
    ("GET", "/fleet/findings"): ("viewer", None, "", False),
    ("GET", "/runs/{run_id}/visuals"): ("viewer", None, "", True),
    ("GET", "/visuals"): ("viewer", None, "", False),
    ("GET", "/hosts/{host_id}/context"): ("viewer", None, "", True),
    ("GET", "/runs/{run_id}/calls"): ("viewer", None, "?pid=1", True),
    ("GET", "/playbooks"): ("viewer", None, "", False),
    ("POST", "/playbooks/check"): ("viewer", {"text": "id: x"}, "", False),
    ("GET", "/playbooks/{playbook_id}"): ("viewer", None, "", False),
    ("GET", "/playbooks/{playbook_id}/chain"): ("viewer", None, "?run_id={run}", True),
    ("GET", "/rules"): ("viewer", None, "", False),
    ("GET", "/causes"): ("viewer", None, "", False),
    ("GET", "/thresholds"): ("viewer", None, "", False),
    ("PUT", "/thresholds"): ("admin", {"name": "F-NET-X.warn", "value": 1, "why": "test"}, "", False),
    ("DELETE", "/thresholds/{threshold_id}"): ("admin", None, "", False),
    ("POST", "/diagnoses"): ("investigator", {"host_id": "{host}"}, "", True),
    ("GET", "/diagnoses"): ("viewer", None, "", False),
    ("GET", "/diagnoses/{diagnosis_id}"): ("viewer", None, "", True),
    ("POST", "/diagnoses/{diagnosis_id}/cancel"): ("investigator", None, "", True),
    ("GET", "/incidents"): ("viewer", None, "", False),
    ("POST", "/incidents"): ("investigator", {"title": "t", "hosts": [{"host_id": "{host}"}]}, "", True),
    ("GET", "/incidents/{incident_id}"): ("viewer", None, "", True),
    ("PATCH", "/incidents/{incident_id}"): ("investigator", {"version": 1, "title": "u"}, "", True),
    ("POST", "/incidents/{incident_id}/hosts"): (
        "investigator",
        {"version": 1, "hosts": [{"host_id": "{host}"}]},
        "",
        True,
    ),
    ("POST", "/incidents/{incident_id}/playbooks"): (
        "investigator",
        {"version": 1, "playbooks": ["{playbook}"]},
        "",
        True,
    ),
    ("POST", "/incidents/{incident_id}/hypotheses"): ("investigator", {"version": 1, "says": "x"}, "", True),
    ("PATCH", "/incidents/{incident_id}/hypotheses/{hypothesis_id}"): (
        "investigator",
        {"version": 1, "state": "open"},
        "",
        True,
    ),
    ("POST", "/incidents/{incident_id}/verdicts"): (
        "investigator",
        {"version": 1, "step": "own/1", "verdict": "supports", "pins": ["{pin}"]},
        "",
        True,
    ),
    ("POST", "/incidents/{incident_id}/verdicts/{verdict_id}/withdraw"): (
        "investigator",
        {"version": 1},
        "",
        True,
    ),
    ("POST", "/incidents/{incident_id}/pins"): (
        "investigator",
        {
            "version": 1,
            "kind": "line",
            "view": "/runs/{run}",
            "ref": {"artifact_id": "{artifact}", "lines": [1]},
        },
        "",
        True,
    ),
    ("GET", "/incidents/{incident_id}/pins/{pin_id}"): ("viewer", None, "", True),
    ("POST", "/incidents/{incident_id}/waivers"): (
        "investigator",
        {"version": 1, "steps": ["own/1"], "reason": "because"},
        "",
        True,
    ),
    ("PATCH", "/incidents/{incident_id}/playbooks/{playbook_id}"): (
        "investigator",
        {"version": 1, "aside": True, "reason": "because"},
        "",
        True,
    ),
    ("POST", "/incidents/{incident_id}/notes"): ("investigator", {"version": 1, "note": "n"}, "", True),
    ("POST", "/incidents/{incident_id}/runs"): (
        "investigator",
        {"version": 1, "run_ids": ["{run}"]},
        "",
        True,
    ),
    ("POST", "/incidents/{incident_id}/wrong"): ("investigator", {"version": 1, "cause": "x"}, "", True),
    ("POST", "/incidents/{incident_id}/step"): (
        "investigator",
        {"version": 1, "step": "own/1", "host_id": "{host}"},
        "",
        True,
    ),
    ("POST", "/incidents/{incident_id}/fixes"): ("investigator", {"version": 1, "what": "x"}, "", True),
    ("PATCH", "/incidents/{incident_id}/fixes/{fix_id}"): (
        "investigator",
        {"version": 1, "state": "applied"},
        "",
        True,
    ),
    ("POST", "/incidents/{incident_id}/fixes/{fix_id}/verify"): ("investigator", {"version": 1}, "", True),
    ("POST", "/incidents/{incident_id}/autopilot"): (
        "investigator",
        {"version": 1, "tier": "light"},
        "",
        True,
    ),
    ("DELETE", "/incidents/{incident_id}/autopilot"): ("investigator", None, "", True),
    ("GET", "/incidents/{incident_id}/journal"): ("viewer", None, "", True),
    ("GET", "/incidents/{incident_id}/comments"): ("viewer", None, "", True),
    ("POST", "/incidents/{incident_id}/comments"): ("investigator", {"text": "x"}, "", True),
    ("PATCH", "/incidents/{incident_id}/comments/{comment_id}"): ("investigator", {"text": "x"}, "", True),
    ("POST", "/incidents/{incident_id}/comments/{comment_id}/withdraw"): ("investigator", None, "", True),
    ("GET", "/incidents/{incident_id}/people"): ("investigator", None, "", True),
    ("GET", "/incidents/{incident_id}/events"): ("viewer", None, "?once=true", True),
    ("GET", "/incidents/{incident_id}/bundle"): ("investigator", None, "", True),
    ("GET", "/incidents/{incident_id}/export"): ("investigator", None, "?redacted=true", True),
    ("POST", "/incidents/import"): ("investigator", None, "", False),
    ("GET", "/mutes"): ("viewer", None, "", False),
    ("POST", "/mutes"): (
        "oncall",
        {"host_id": "{host}", "rule": "F-CPU-X", "reason": "known", "expires_at": "2020-01-01T00:00:00Z"},
        "",
        True,
    ),
    ("DELETE", "/mutes/{mute_id}"): ("oncall", None, "", True),
    ("GET", "/incidents/{incident_id}/reports"): ("viewer", None, "", True),
    ("POST", "/incidents/{incident_id}/reports"): ("investigator", {}, "", True),
    ("GET", "/reports/{report_id}"): ("viewer", None, "", True),
    ("PATCH", "/reports/{report_id}"): ("investigator", {"version": 1}, "", True),
    ("GET", "/reports/{report_id}/preview"): ("investigator", None, "", True),
    ("GET", "/reports/{report_id}/preview/page"): ("investigator", None, "", True),
    ("POST", "/reports/{report_id}/versions"): ("investigator", {"version": 1}, "", True),
    ("GET", "/report-versions/{version_id}"): ("viewer", None, "", True),
    ("GET", "/report-versions/{version_id}/file"): ("viewer", None, "?form=markdown", True),
    ("GET", "/report-versions/{version_id}/names"): ("investigator", None, "", True),
    ("POST", "/report-versions/{version_id}/approve"): ("oncall", None, "", True),
    ("POST", "/report-versions/{version_id}/shares"): ("investigator", {"days": 1}, "", True),
    ("GET", "/report-shares/{share_id}/visits"): ("investigator", None, "", True),
    ("DELETE", "/report-shares/{share_id}"): ("investigator", None, "", True),
    ("GET", "/causes/outcomes"): ("viewer", None, "", False),
    ("GET", "/schedules"): ("viewer", None, "", False),
    ("POST", "/schedules"): (
        "oncall",
        {"name": "s", "cadence": HOURLY, "wanted": {"plan": "baseline"}, "target": {"host_ids": ["{host}"]}},
        "",
        True,
    ),
    ("POST", "/schedules/preview"): ("viewer", {"cadence": HOURLY}, "", False),
    ("GET", "/schedules/{schedule_id}"): ("viewer", None, "", True),
    ("PATCH", "/schedules/{schedule_id}"): ("oncall", {"version": 1, "reason": "r"}, "", True),
    ("DELETE", "/schedules/{schedule_id}"): ("oncall", None, "", True),
    ("GET", "/schedules/{schedule_id}/firings"): ("viewer", None, "", True),
    ("GET", "/events"): ("viewer", None, "", False),
    ("POST", "/events"): ("investigator", {"what": "feed 4f2a", "hosts": ["{host}"]}, "", True),
    ("GET", "/events/{event_id}"): ("viewer", None, "", True),
    ("PATCH", "/events/{event_id}"): ("oncall", {"detail": "rolled back"}, "", True),
    ("DELETE", "/events/{event_id}"): ("oncall", None, "", True),
    ("GET", "/hosts/{host_id}/changes"): ("viewer", None, "", True),
    ("GET", "/maintenance"): ("viewer", None, "", False),
    ("POST", "/maintenance"): (
        "oncall",
        {
            "host_id": "{host}",
            "starts_at": "2030-01-01T00:00:00Z",
            "ends_at": "2030-01-02T00:00:00Z",
            "reason": "disks",
        },
        "",
        True,
    ),
    ("DELETE", "/maintenance/{window_id}"): ("oncall", None, "", True),
    ("GET", "/oncall"): ("viewer", None, "", False),
    ("GET", "/oncall/people"): ("oncall", None, "", False),
    ("GET", "/rotations"): ("viewer", None, "", False),
    ("POST", "/rotations"): ("admin", {"name": "r", "origin": {"kind": "calendar"}}, "", False),
    ("GET", "/rotations/{rotation_id}"): ("viewer", None, "", False),
    ("PATCH", "/rotations/{rotation_id}"): ("admin", {"version": 1}, "", False),
    ("DELETE", "/rotations/{rotation_id}"): ("admin", None, "", False),
    ("POST", "/rotations/{rotation_id}/fetch"): ("oncall", None, "", False),
    ("PUT", "/rotations/{rotation_id}/calendar"): ("admin", None, "", False),
    ("POST", "/rotations/{rotation_id}/overrides"): (
        "oncall",
        {"user_id": "{user}", "starts_at": "2030-01-01T00:00:00Z", "ends_at": "2030-01-02T00:00:00Z"},
        "",
        False,
    ),
    ("DELETE", "/rotations/{rotation_id}/overrides/{override_id}"): ("oncall", None, "", False),
    ("GET", "/artifacts/{artifact_id}/content"): ("investigator", None, "", True),
    ("GET", "/artifacts/{artifact_id}/lines"): ("investigator", None, "", True),
    ("GET", "/profiles"): ("viewer", None, "", False),
    ("GET", "/profiles/{profile_id}"): ("viewer", None, "", True),
    ("GET", "/profiles/{profile_id}/tree"): ("viewer", None, "", True),
    ("GET", "/profiles/{profile_id}/table"): ("viewer", None, "", True),
    ("GET", "/profiles/{profile_id}/search"): ("viewer", None, "?q=x", True),
    ("GET", "/profiles/{profile_id}/heat"): ("viewer", None, "", True),
    ("GET", "/profiles/{profile_id}/facets"): ("viewer", None, "", True),
    ("GET", "/profiles/{profile_id}/export"): ("viewer", None, "?format=folded", True),
    ("POST", "/diffs"): (
        "investigator",
        {"a": {"profile_id": "{profile}"}, "b": {"profile_id": "{profile}"}},
        "",
        True,
    ),
    ("GET", "/diffs/{diff_id}"): ("viewer", None, "", True),
    ("GET", "/diffs/{diff_id}/tree"): ("viewer", None, "", True),
    ("POST", "/imports"): ("investigator", {"kind": "folded"}, "", False),
    ("POST", "/imports/example"): ("investigator", None, "", False),
    ("GET", "/uploads"): ("investigator", None, "", False),
    ("POST", "/uploads"): ("investigator", {"host_id": "{host}"}, "", True),
    ("DELETE", "/uploads/{upload_id}"): ("investigator", None, "", False),
    ("GET", "/bundle"): ("investigator", None, "", False),
    ("GET", "/kill-switches"): ("viewer", None, "", False),
    ("POST", "/kill-switches"): ("admin", {"kind": "label", "label": {"role": "nowhere"}}, "", False),
    ("POST", "/kill-switches/{switch_id}/lift"): ("admin", None, "", False),
    ("GET", "/standbys"): ("viewer", None, "", False),
    ("GET", "/standbys/conditions"): ("viewer", None, "", False),
    ("POST", "/standbys"): ("oncall", {"kind": "ring", "host_id": "{host}"}, "", True),
    ("GET", "/standbys/{standby_id}"): ("viewer", None, "", True),
    ("POST", "/standbys/{standby_id}/end"): ("oncall", None, "", True),
    ("GET", "/triggers"): ("viewer", None, "", False),
    ("POST", "/triggers"): ("oncall", {"name": "t", "kind": "generic"}, "", False),
    ("PATCH", "/triggers/{trigger_id}"): ("oncall", {}, "", False),
    ("DELETE", "/triggers/{trigger_id}"): ("oncall", None, "", False),
    ("POST", "/triggers/{trigger_id}/test"): ("oncall", {"labels": {"host": "x"}}, "", False),
    ("GET", "/alerts"): ("viewer", None, "", False),
    ("GET", "/tier-allowances"): ("viewer", None, "", False),
    ("POST", "/tier-allowances"): ("admin", {"label": {"role": "feed"}}, "", False),
    ("DELETE", "/tier-allowances/{allowance_id}"): ("admin", None, "", False),
    ("GET", "/channels"): ("oncall", None, "", False),
    ("POST", "/channels"): ("admin", {"name": "c", "kind": "webhook", "url": "http://10.0.0.1/"}, "", False),
    ("PATCH", "/channels/{channel_id}"): ("admin", {}, "", False),
    ("DELETE", "/channels/{channel_id}"): ("admin", None, "", False),
    ("POST", "/channels/{channel_id}/test"): ("admin", None, "", False),
    ("POST", "/channels/{channel_id}/again"): ("admin", None, "", False),
    ("GET", "/grafana-annotations"): ("oncall", None, "", False),
    ("POST", "/grafana-annotations/{annotation_id}/again"): ("admin", None, "", False),
    ("GET", "/notices"): ("oncall", None, "", False),
    ("POST", "/notices/{notice_id}/again"): ("admin", None, "", False),
    ("GET", "/notices/{notice_id}/picture"): ("oncall", None, "", False),
}


@dataclass
class Seeds:
    """Ids of one host and of everything that hangs on it."""

    ids: dict[str, str]

    def fill(self, value: Any) -> Any:
        """Ids in place of {names}, however deep."""
        if isinstance(value, str):
            for name, one in self.ids.items():
                value = value.replace("{" + name + "}", one).replace("{" + name + "_id}", one)
            return value
        if isinstance(value, dict):
            return {name: self.fill(one) for name, one in value.items()}
        return [self.fill(one) for one in value] if isinstance(value, list) else value


def seed(config: Settings, db: Database, owner: object, labels: dict[str, str]) -> Seeds:
    """A host with a finished capture, a running one, an artifact, a profile and a diff."""
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
        diff = ProfileDiff(a=side, b=side, requested_by=owner)
        diagnosis = Diagnosis(host_id=host.id, seconds=8, state="done")
        incident = Incident(title="i", window_from=now(), created_by=owner)
        mute = FindingMute(host_id=host.id, rule="F-CPU-X", reason="known", expires_at=now())
        schedule = Schedule(
            name=f"s {labels}",
            kind="cron",
            cron="0 * * * *",
            zone="UTC",
            wanted={"plan": "baseline"},
            owner_id=owner,
            state="paused",
        )
        window = MaintenanceWindow(
            host_id=host.id,
            starts_at=now() - timedelta(hours=1),
            ends_at=now() + timedelta(hours=1),
            reason="r",
        )
        rotation = Rotation(name=f"r {labels}", kind="calendar")
        standby = Standby(
            kind="ring",
            host_id=host.id,
            ring_s=60,
            ring_bytes=1 << 20,
            until=now(),
            state="expired",
            ended_at=now(),
        )
        event = Annotation(t_ns=1, kind="note", what="x", place={"kind": "hosts"}, told_by=owner)
        session.add_all([diff, diagnosis, incident, mute, schedule, window, rotation, standby, event])
        session.flush()
        session.add(AnnotationHost(annotation_id=event.id, host_id=host.id))
        comment = IncidentComment(incident_id=incident.id, text="x", by=owner)
        hypothesis = Hypothesis(incident_id=incident.id, key="own/1", says={"en": "x", "zh": "x"})
        verdict = StepVerdict(incident_id=incident.id, step="own/1", hypothesis="own/1", verdict="supports")
        pin = Pin(incident_id=incident.id, kind="line", ref={}, view="/", said={"hosts": [str(host.id)]})
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
        share = ReportShare(version_id=version.id, token_hash=host.id.bytes, expires_at=now())
        session.add(share)
        session.flush()
        rows = {"host": host, "capture": capture, "run": run, "artifact": artifact, "profile": profile,
                "diff": diff, "diagnosis": diagnosis, "incident": incident, "hypothesis": hypothesis,
                "verdict": verdict, "pin": pin, "fix": fix, "mute": mute, "schedule": schedule,
                "window": window, "rotation": rotation, "event": event, "report": report, "version": version,
                "share": share, "comment": comment, "standby": standby}  # fmt: skip
        ids = {name: str(row.id) for name, row in rows.items()}
    ids |= {name: str(uuid7()) for name in (
        "user", "token", "credential", "rule", "service", "threshold", "override", "switch", "trigger", "allowance",
        "channel", "notice", "annotation", "upload", "look",
    )}  # fmt: skip
    ids["playbook"] = "connect-port-exhaustion"
    return Seeds(ids)


def ask(client: TestClient, seeds: Seeds, route: tuple[str, str]) -> int:
    """The status of a route, asked with a body that makes sense."""
    method, path = route
    _, body, query, _ = TABLE.get(route, ("", PUBLIC.get(route), "", False))
    url = API + seeds.fill(path) + seeds.fill(query)
    if route == ("POST", "/imports"):
        return client.post(url, data=body, files={"file": ("x.folded", b"a;b 1\n")}).status_code
    if route == ("POST", "/incidents/import"):
        return client.post(url, files={"file": ("x.zip", b"no bundle")}).status_code
    if method == "PUT" and path.endswith("/calendar"):
        return client.put(url, files={"file": ("x.ics", b"no calendar")}).status_code
    return client.request(method, url, **({} if body is None else {"json": seeds.fill(body)})).status_code


@pytest.fixture
def clients(as_: Callable[[str], TestClient], client: TestClient) -> Callable[[str], TestClient]:
    return lambda name: client if name == "nobody" else as_(name)


def routes(app: FastAPI) -> set[tuple[str, str]]:
    """What the application really serves."""
    return {
        (method.upper(), path.removeprefix(API))
        for path, methods in app.openapi()["paths"].items()
        for method in methods
    }


def test_every_route_is_in_the_table(app: FastAPI) -> None:
    listed = set(TABLE) | set(PUBLIC)
    assert routes(app) - listed == set(), "decide who may use these, and add them to TABLE"
    assert listed - routes(app) == set(), "these are not served any more"


@pytest.mark.parametrize("principal", PRINCIPALS)
def test_who_may_what(
    app: FastAPI,
    config: Settings,
    db: Database,
    people,
    clients: Callable[[str], TestClient],
    session_as: Callable[[str], TestClient],
    principal: str,
) -> None:
    browser = clients(principal) if principal == "nobody" else session_as(principal)
    seeds = seed(config, db, people["admin"].id, {"role": "feed"})
    wrong = {}
    for route in sorted(TABLE.keys() & routes(app), key=lambda one: (one[0] == "DELETE", one)):
        status = ask(browser if route in SESSIONS else clients(principal), seeds, route)
        lowest = TABLE[route][0]
        if principal == "nobody":
            right = status == 401
        elif rank(principal) < rank(lowest):
            right = status == 403
        else:
            right = status not in {401, 403} and status < 500
        if not right:
            wrong[route] = status
    assert wrong == {}


def test_a_scope_hides_everything_that_hangs_on_a_host(
    app: FastAPI, config: Settings, db: Database, people, clients: Callable[[str], TestClient]
) -> None:
    own = seed(config, db, people["admin"].id, {"role": "feed"})
    other = seed(config, db, people["admin"].id, {"role": "ads"})
    scoped = clients("scoped")
    wrong = {}
    for route, (lowest, _, _, about_host) in TABLE.items():
        if not about_host or route not in routes(app) or rank(lowest) > rank("oncall"):
            continue
        hidden, seen = ask(scoped, other, route), ask(scoped, own, route)
        if hidden != 404 or seen in {401, 403} or seen >= 500:
            wrong[route] = (hidden, seen)
    assert wrong == {}
    for path, names in (("/hosts", ["h-feed"]), ("/captures", None), ("/profiles", None)):
        items = scoped.get(API + path).json()["items"]
        assert len(items) >= 1
        assert other.ids["host"] not in str(items) and other.ids["run"] not in str(items)
        assert names is None or [one["name"] for one in items] == names


def test_public_routes_ask_for_no_session(client: TestClient) -> None:
    for (method, path), body in PUBLIC.items():
        url = API + path.replace("{trigger_id}", str(uuid7())).replace("{token}", "0" * 96)
        answer = client.request(method, url, json=body, follow_redirects=False)
        if (method, path) in OPEN:
            assert answer.status_code == OPEN[method, path]
            continue
        assert answer.status_code in {401, 404} and answer.json()["key"] in REFUSALS


def test_the_table_of_actions_is_deny_by_default() -> None:
    actors = {role: Actor(uuid7(), role, role) for role in PRINCIPALS[1:]}
    for actor in actors.values():
        assert not allowed(actor, "no.such.action")
        with pytest.raises(CulpritError):
            policy(actor, "no.such.action")
    for action, (low, high) in itertools.product(ACTIONS, itertools.pairwise(PRINCIPALS[1:])):
        assert not allowed(actors[low], action) or allowed(actors[high], action), (
            "each may what the lower may"
        )
    expected = {"capture.light": "investigator", "capture.standard": "investigator", "capture.deep": "oncall",
                "capture.ptrace": "admin", "host.enrol": "admin"}  # fmt: skip
    assert expected.items() <= dict(ACTIONS).items()


SCOPES = [
    {}, {"role": ["feed"]}, {"role": ["feed", "ads"]}, {"role": ["feed"], "dc": ["a"]}, {"missing": ["x"]},
    {"role": ["' OR 1=1 --"]}, {"role'": ["x"]}, {"role": [""]},
]  # fmt: skip


def test_the_list_clause_and_the_function_agree(db: Database) -> None:
    labels = [{}, {"role": "feed"}, {"role": "ads"}, {"role": "feed", "dc": "a"}, {"role": "feed", "dc": "b"},
              {"role": ""}, {"dc": "a"}]  # fmt: skip
    with unit_of_work(db.sessions) as session:
        credential = Credential(name="c", kind="agent")
        session.add(credential)
        session.flush()
        for n, one in enumerate(labels):
            session.add(
                Host(name=f"h{n}", address="a", username="u", credential_id=credential.id, labels=one)
            )
    with db.sessions() as session:
        for scope in SCOPES:
            actor = Actor(uuid7(), "x", "viewer", scope)
            listed = {host.name for host in session.query(Host).where(visible(actor))}
            assert listed == {f"h{n}" for n, one in enumerate(labels) if in_scope(actor, one)}, scope
