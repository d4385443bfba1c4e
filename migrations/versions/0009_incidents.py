"""Incidents: hypotheses, verdicts with their evidence, fixes, and how causes turned out."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

TABLES = (
    "incident",
    "incident_host",
    "incident_participant",
    "incident_playbook",
    "hypothesis",
    "step_verdict",
    "pin",
    "verdict_pin",
    "step_waiver",
    "journal_entry",
    "fix",
    "verification",
    "incident_run",
    "finding_mute",
    "cause_outcome",
)


def upgrade() -> None:
    op.create_table(
        "incident",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("symptom", JSONB(none_as_null=True), nullable=False),
        sa.Column("severity", sa.SmallInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("window_from", sa.DateTime(timezone=True), nullable=False),
        sa.Column("window_to", sa.DateTime(timezone=True), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("resolved_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("autopilot", JSONB(none_as_null=True), nullable=True),
        sa.CheckConstraint(
            "state IN ('open', 'investigating', 'identified', 'mitigated', 'resolved')",
            name="ck_incident_state",
        ),
        sa.CheckConstraint("severity BETWEEN 1 AND 4", name="ck_incident_severity"),
        sa.CheckConstraint("window_to >= window_from", name="ck_incident_window"),
        sa.ForeignKeyConstraint(["created_by"], ["user_account.id"], name="fk_incident_created_by"),
        sa.PrimaryKeyConstraint("id", name="pk_incident"),
        sa.UniqueConstraint("number", name="uq_incident_number"),
    )
    op.create_index("ix_incident_state_number", "incident", ["state", "number"])
    op.create_table(
        "incident_host",
        sa.Column("incident_id", sa.Uuid(), nullable=False),
        sa.Column("host_id", sa.Uuid(), nullable=False),
        sa.Column("scope", JSONB(none_as_null=True), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.CheckConstraint("role IN ('suspect', 'control', 'dependency')", name="ck_incident_host_role"),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_incident_host_host_id"),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name="fk_incident_host_incident_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("incident_id", "host_id", name="pk_incident_host"),
    )
    op.create_index("ix_incident_host_host_id", "incident_host", ["host_id"])
    op.create_table(
        "incident_participant",
        sa.Column("incident_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("joined_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name="fk_incident_participant_incident_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_incident_participant_user_id"),
        sa.PrimaryKeyConstraint("incident_id", "user_id", name="pk_incident_participant"),
    )
    op.create_table(
        "incident_playbook",
        sa.Column("incident_id", sa.Uuid(), nullable=False),
        sa.Column("playbook_id", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("content", JSONB(none_as_null=True), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name="fk_incident_playbook_incident_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("incident_id", "playbook_id", name="pk_incident_playbook"),
    )
    op.create_table(
        "hypothesis",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("incident_id", sa.Uuid(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("says", JSONB(none_as_null=True), nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("primary", JSONB(none_as_null=True), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("state IN ('open', 'refuted', 'likely', 'confirmed')", name="ck_hypothesis_state"),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name="fk_hypothesis_incident_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_hypothesis"),
        sa.UniqueConstraint("incident_id", "key", name="uq_hypothesis_incident_id_key"),
    )
    op.create_table(
        "step_verdict",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("incident_id", sa.Uuid(), nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("hypothesis", sa.Text(), nullable=False),
        sa.Column("host_id", sa.Uuid(), nullable=True),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "verdict IN ('supports', 'refutes', 'inconclusive')", name="ck_step_verdict_verdict"
        ),
        sa.ForeignKeyConstraint(["by"], ["user_account.id"], name="fk_step_verdict_by"),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_step_verdict_host_id"),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name="fk_step_verdict_incident_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_step_verdict"),
    )
    op.create_index("ix_step_verdict_incident_id_step", "step_verdict", ["incident_id", "step"])
    op.create_table(
        "pin",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("incident_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("ref", JSONB(none_as_null=True), nullable=False),
        sa.Column("view", sa.Text(), nullable=False),
        sa.Column("said", JSONB(none_as_null=True), nullable=False),
        sa.Column("artifact", sa.Text(), nullable=True),
        sa.Column("step", sa.Text(), nullable=True),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind IN ('range', 'frame', 'row', 'line', 'comparison')", name="ck_pin_kind"),
        sa.ForeignKeyConstraint(["created_by"], ["user_account.id"], name="fk_pin_created_by"),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name="fk_pin_incident_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_pin"),
    )
    op.create_index("ix_pin_incident_id", "pin", ["incident_id"])
    op.create_table(
        "verdict_pin",
        sa.Column("verdict_id", sa.Uuid(), nullable=False),
        sa.Column("pin_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["pin_id"], ["pin.id"], name="fk_verdict_pin_pin_id"),
        sa.ForeignKeyConstraint(
            ["verdict_id"], ["step_verdict.id"], name="fk_verdict_pin_verdict_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("verdict_id", "pin_id", name="pk_verdict_pin"),
    )
    op.create_index("ix_verdict_pin_pin_id", "verdict_pin", ["pin_id"])
    op.create_table(
        "step_waiver",
        sa.Column("incident_id", sa.Uuid(), nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["by"], ["user_account.id"], name="fk_step_waiver_by"),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name="fk_step_waiver_incident_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("incident_id", "step", name="pk_step_waiver"),
    )
    op.create_table(
        "journal_entry",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("incident_id", sa.Uuid(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("params", JSONB(none_as_null=True), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("by", sa.Uuid(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["by"], ["user_account.id"], name="fk_journal_entry_by"),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name="fk_journal_entry_incident_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_journal_entry"),
    )
    op.create_index("ix_journal_entry_incident_id_version", "journal_entry", ["incident_id", "version"])
    op.create_table(
        "fix",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("incident_id", sa.Uuid(), nullable=False),
        sa.Column("hypothesis_id", sa.Uuid(), nullable=True),
        sa.Column("card", sa.Text(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("hosts", JSONB(none_as_null=True), nullable=False),
        sa.Column("command", sa.Text(), nullable=False),
        sa.Column("risk", sa.Text(), nullable=False),
        sa.Column("way_back", sa.Text(), nullable=False),
        sa.Column("applied_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "state IN ('planned', 'applied', 'verified', 'no_effect', 'worse', 'no_conclusion', 'reverted')",
            name="ck_fix_state",
        ),
        sa.ForeignKeyConstraint(["created_by"], ["user_account.id"], name="fk_fix_created_by"),
        sa.ForeignKeyConstraint(["hypothesis_id"], ["hypothesis.id"], name="fk_fix_hypothesis_id"),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name="fk_fix_incident_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_fix"),
    )
    op.create_index("ix_fix_incident_id", "fix", ["incident_id"])
    op.create_table(
        "verification",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("fix_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("primary", JSONB(none_as_null=True), nullable=True),
        sa.Column("bar", sa.Double(), nullable=True),
        sa.Column("before", JSONB(none_as_null=True), nullable=False),
        sa.Column("after", JSONB(none_as_null=True), nullable=False),
        sa.Column("control_host_id", sa.Uuid(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("result", JSONB(none_as_null=True), nullable=True),
        sa.Column("failure", JSONB(none_as_null=True), nullable=True),
        sa.Column("requested_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("kind IN ('plain', 'control', 'cohort')", name="ck_verification_kind"),
        sa.CheckConstraint(
            "state IN ('collecting', 'judging', 'done', 'failed', 'cancelled')", name="ck_verification_state"
        ),
        sa.ForeignKeyConstraint(["control_host_id"], ["host.id"], name="fk_verification_control_host_id"),
        sa.ForeignKeyConstraint(["fix_id"], ["fix.id"], name="fk_verification_fix_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["requested_by"], ["user_account.id"], name="fk_verification_requested_by"),
        sa.PrimaryKeyConstraint("id", name="pk_verification"),
    )
    op.create_index("ix_verification_fix_id", "verification", ["fix_id"])
    op.create_index(
        "ix_verification_open",
        "verification",
        ["state"],
        postgresql_where=sa.text("state IN ('collecting', 'judging')"),
    )
    op.create_table(
        "incident_run",
        sa.Column("incident_id", sa.Uuid(), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("fix_id", sa.Uuid(), nullable=True),
        sa.Column("step", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("told_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("role IN ('evidence', 'before', 'after', 'control')", name="ck_incident_run_role"),
        sa.ForeignKeyConstraint(["fix_id"], ["fix.id"], name="fk_incident_run_fix_id", ondelete="SET NULL"),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name="fk_incident_run_incident_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_incident_run_run_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("incident_id", "run_id", name="pk_incident_run"),
    )
    op.create_index("ix_incident_run_run_id", "incident_run", ["run_id"])
    op.create_table(
        "finding_mute",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("host_id", sa.Uuid(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["by"], ["user_account.id"], name="fk_finding_mute_by"),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_finding_mute_host_id"),
        sa.PrimaryKeyConstraint("id", name="pk_finding_mute"),
    )
    op.create_index("ix_finding_mute_host_id_rule", "finding_mute", ["host_id", "rule"])
    op.create_table(
        "cause_outcome",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("incident_id", sa.Uuid(), nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("right", sa.Boolean(), nullable=False),
        sa.Column("true_cause", sa.Text(), nullable=True),
        sa.Column("pins", JSONB(none_as_null=True), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("by", sa.Uuid(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["by"], ["user_account.id"], name="fk_cause_outcome_by"),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name="fk_cause_outcome_incident_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_cause_outcome"),
    )
    op.create_index("ix_cause_outcome_cause", "cause_outcome", ["cause"])
    op.create_index("ix_cause_outcome_incident_id", "cause_outcome", ["incident_id"])
    op.add_column("capture", sa.Column("incident_id", sa.Uuid(), nullable=True))
    op.create_foreign_key(
        "fk_capture_incident_id", "capture", "incident", ["incident_id"], ["id"], ondelete="SET NULL"
    )
    op.create_index("ix_capture_incident_id", "capture", ["incident_id"])


def downgrade() -> None:
    op.drop_index("ix_capture_incident_id", "capture")
    op.drop_constraint("fk_capture_incident_id", "capture", type_="foreignkey")
    op.drop_column("capture", "incident_id")
    for table in reversed(TABLES):
        op.drop_table(table)
