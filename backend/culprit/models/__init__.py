"""Every table, one file each. Import tables from here."""

from culprit.models.alert import Alert
from culprit.models.annotation import Annotation
from culprit.models.annotation_host import AnnotationHost
from culprit.models.api_token import ApiToken
from culprit.models.artifact import Artifact
from culprit.models.audit_entry import AuditEntry
from culprit.models.base import Base
from culprit.models.capture import Capture
from culprit.models.cause_outcome import CauseOutcome
from culprit.models.channel import Channel
from culprit.models.credential import Credential
from culprit.models.diagnosis import Diagnosis
from culprit.models.doomed_blob import DoomedBlob
from culprit.models.evaluation import Evaluation
from culprit.models.event import Event
from culprit.models.finding import Finding
from culprit.models.finding_mute import FindingMute
from culprit.models.firing import Firing
from culprit.models.fix import Fix
from culprit.models.grafana_annotation import GrafanaAnnotation
from culprit.models.host import Host
from culprit.models.host_fact import HostFact
from culprit.models.hypothesis import Hypothesis
from culprit.models.idempotency_key import IdempotencyKey
from culprit.models.incident import Incident
from culprit.models.incident_comment import IncidentComment
from culprit.models.incident_host import IncidentHost
from culprit.models.incident_origin import IncidentOrigin
from culprit.models.incident_participant import IncidentParticipant
from culprit.models.incident_playbook import IncidentPlaybook
from culprit.models.incident_run import IncidentRun
from culprit.models.journal_entry import JournalEntry
from culprit.models.kill_switch import KillSwitch
from culprit.models.login_attempt import LoginAttempt
from culprit.models.login_flow import LoginFlow
from culprit.models.login_link import LoginLink
from culprit.models.login_session import LoginSession
from culprit.models.maintenance_window import MaintenanceWindow
from culprit.models.network_rule import NetworkRule
from culprit.models.notice import Notice
from culprit.models.oidc_provider import OidcProvider
from culprit.models.oncall_override import OncallOverride
from culprit.models.oncall_turn import OncallTurn
from culprit.models.pin import Pin
from culprit.models.preflight import Preflight
from culprit.models.profile import Profile
from culprit.models.profile_diff import ProfileDiff
from culprit.models.removal import Removal
from culprit.models.report import Report
from culprit.models.report_share import ReportShare
from culprit.models.report_version import ReportVersion
from culprit.models.report_visit import ReportVisit
from culprit.models.result_table import ResultTable
from culprit.models.retention_policy import RetentionPolicy
from culprit.models.rotation import Rotation
from culprit.models.run import Run
from culprit.models.run_collector import RunCollector
from culprit.models.schedule import Schedule
from culprit.models.schedule_firing import ScheduleFiring
from culprit.models.schedule_host import ScheduleHost
from culprit.models.series import Series
from culprit.models.series_chunk import SeriesChunk
from culprit.models.series_day import SeriesDay
from culprit.models.service import Service
from culprit.models.standby import Standby
from culprit.models.step_verdict import StepVerdict
from culprit.models.step_waiver import StepWaiver
from culprit.models.storage_look import StorageLook
from culprit.models.threshold import Threshold
from culprit.models.tier_allowance import TierAllowance
from culprit.models.trigger import Trigger
from culprit.models.trigger_delivery import TriggerDelivery
from culprit.models.upload_address import UploadAddress
from culprit.models.user_account import UserAccount
from culprit.models.user_identity import UserIdentity
from culprit.models.verdict_pin import VerdictPin
from culprit.models.verification import Verification
from culprit.models.worker_state import WorkerState

__all__ = [
    "Alert",
    "Annotation",
    "AnnotationHost",
    "ApiToken",
    "Artifact",
    "AuditEntry",
    "Base",
    "Capture",
    "CauseOutcome",
    "Channel",
    "Credential",
    "Diagnosis",
    "DoomedBlob",
    "Evaluation",
    "Event",
    "Finding",
    "FindingMute",
    "Firing",
    "Fix",
    "GrafanaAnnotation",
    "Host",
    "HostFact",
    "Hypothesis",
    "IdempotencyKey",
    "Incident",
    "IncidentComment",
    "IncidentHost",
    "IncidentOrigin",
    "IncidentParticipant",
    "IncidentPlaybook",
    "IncidentRun",
    "JournalEntry",
    "KillSwitch",
    "LoginAttempt",
    "LoginFlow",
    "LoginLink",
    "LoginSession",
    "MaintenanceWindow",
    "NetworkRule",
    "Notice",
    "OidcProvider",
    "OncallOverride",
    "OncallTurn",
    "Pin",
    "Preflight",
    "Profile",
    "ProfileDiff",
    "Removal",
    "Report",
    "ReportShare",
    "ReportVersion",
    "ReportVisit",
    "ResultTable",
    "RetentionPolicy",
    "Rotation",
    "Run",
    "RunCollector",
    "Schedule",
    "ScheduleFiring",
    "ScheduleHost",
    "Series",
    "SeriesChunk",
    "SeriesDay",
    "Service",
    "Standby",
    "StepVerdict",
    "StepWaiver",
    "StorageLook",
    "Threshold",
    "TierAllowance",
    "Trigger",
    "TriggerDelivery",
    "UploadAddress",
    "UserAccount",
    "UserIdentity",
    "VerdictPin",
    "Verification",
    "WorkerState",
]
