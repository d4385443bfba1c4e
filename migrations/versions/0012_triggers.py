"""Triggers with their alerts, messages to channels, and kill switches."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

TABLES = (
    "kill_switch",
    "trigger",
    "trigger_delivery",
    "tier_allowance",
    "firing",
    "alert",
    "channel",
    "notice",
)


def upgrade() -> None:
    op.create_table(
        "kill_switch",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("host_id", sa.Uuid(), nullable=True),
        sa.Column("label_name", sa.Text(), nullable=True),
        sa.Column("label_value", sa.Text(), nullable=True),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("pulled_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("lifted_by", sa.Uuid(), nullable=True),
        sa.Column("lifted_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(kind = 'host') = (host_id IS NOT NULL) AND (kind = 'label') = (label_name IS NOT NULL) AND (label_name IS NULL) = (label_value IS NULL)",
            name="ck_kill_switch_scope",
        ),
        sa.CheckConstraint("kind IN ('everywhere', 'label', 'host')", name="ck_kill_switch_kind"),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_kill_switch_host_id"),
        sa.ForeignKeyConstraint(["lifted_by"], ["user_account.id"], name="fk_kill_switch_lifted_by"),
        sa.ForeignKeyConstraint(["pulled_by"], ["user_account.id"], name="fk_kill_switch_pulled_by"),
        sa.PrimaryKeyConstraint("id", name="pk_kill_switch"),
    )
    op.create_index(
        "uq_kill_switch_place",
        "kill_switch",
        ["place"],
        unique=True,
        postgresql_where=sa.text("lifted_at IS NULL"),
    )
    op.create_table(
        "trigger",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("proof", sa.Text(), nullable=False),
        sa.Column("token_hash", sa.LargeBinary(), nullable=True),
        sa.Column("ciphertext", sa.LargeBinary(), nullable=True),
        sa.Column("nonce", sa.LargeBinary(), nullable=True),
        sa.Column("wrapped_key", sa.LargeBinary(), nullable=True),
        sa.Column("key_version", sa.Integer(), nullable=True),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("options", JSONB(none_as_null=True), nullable=False),
        sa.Column("channel_ids", JSONB(none_as_null=True), nullable=False),
        sa.Column("owner_id", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("heard_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("heard", sa.Integer(), nullable=False),
        sa.Column("repeated", sa.Integer(), nullable=False),
        sa.Column("refused_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("refused_for", JSONB(none_as_null=True), nullable=True),
        sa.CheckConstraint(
            "(proof = 'token') = (token_hash IS NOT NULL) AND (proof = 'hmac') = (ciphertext IS NOT NULL)",
            name="ck_trigger_secret",
        ),
        sa.CheckConstraint(
            "kind IN ('alertmanager', 'grafana', 'pagerduty', 'generic')", name="ck_trigger_kind"
        ),
        sa.CheckConstraint("proof IN ('hmac', 'token')", name="ck_trigger_proof"),
        sa.ForeignKeyConstraint(["owner_id"], ["user_account.id"], name="fk_trigger_owner_id"),
        sa.PrimaryKeyConstraint("id", name="pk_trigger"),
        sa.UniqueConstraint("name", name="uq_trigger_name"),
    )
    op.create_table(
        "trigger_delivery",
        sa.Column("trigger_id", sa.Uuid(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["trigger_id"], ["trigger.id"], name="fk_trigger_delivery_trigger_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("trigger_id", "digest", name="pk_trigger_delivery"),
    )
    op.create_index("ix_trigger_delivery_until", "trigger_delivery", ["until"])
    op.create_table(
        "tier_allowance",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("label_name", sa.Text(), nullable=False),
        sa.Column("label_value", sa.Text(), nullable=False),
        sa.Column("tier", sa.Text(), nullable=False),
        sa.Column("by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("tier IN ('standard')", name="ck_tier_allowance_tier"),
        sa.ForeignKeyConstraint(["by"], ["user_account.id"], name="fk_tier_allowance_by"),
        sa.PrimaryKeyConstraint("id", name="pk_tier_allowance"),
        sa.UniqueConstraint("label_name", "label_value", name="uq_tier_allowance_label_name_label_value"),
    )
    op.create_table(
        "firing",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("trigger_id", sa.Uuid(), nullable=True),
        sa.Column("host_id", sa.Uuid(), nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("service", sa.Text(), nullable=False),
        sa.Column("peers", JSONB(none_as_null=True), nullable=False),
        sa.Column("incident_id", sa.Uuid(), nullable=True),
        sa.Column("diagnosis_id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("told_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["diagnosis_id"], ["diagnosis.id"], name="fk_firing_diagnosis_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_firing_host_id"),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name="fk_firing_incident_id", ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["trigger_id"], ["trigger.id"], name="fk_firing_trigger_id", ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_firing"),
        sa.UniqueConstraint("diagnosis_id", name="uq_firing_diagnosis_id"),
    )
    op.create_index("ix_firing_host_id_cause_created_at", "firing", ["host_id", "cause", "created_at"])
    op.create_index("ix_firing_incident_id", "firing", ["incident_id"])
    op.create_index("ix_firing_untold", "firing", ["created_at"], postgresql_where=sa.text("told_at IS NULL"))
    op.create_table(
        "alert",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("trigger_id", sa.Uuid(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("group", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("labels", JSONB(none_as_null=True), nullable=False),
        sa.Column("began_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", JSONB(none_as_null=True), nullable=True),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("host_id", sa.Uuid(), nullable=True),
        sa.Column("service", sa.Text(), nullable=False),
        sa.Column("firing_id", sa.Uuid(), nullable=True),
        sa.Column("incident_id", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("resolved_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state IN ('fired', 'joined', 'held', 'refused', 'unmatched')", name="ck_alert_state"
        ),
        sa.ForeignKeyConstraint(["firing_id"], ["firing.id"], name="fk_alert_firing_id", ondelete="SET NULL"),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_alert_host_id"),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name="fk_alert_incident_id", ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["trigger_id"], ["trigger.id"], name="fk_alert_trigger_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_alert"),
        sa.UniqueConstraint("number", name="uq_alert_number"),
    )
    op.create_index("ix_alert_firing_id", "alert", ["firing_id"])
    op.create_index("ix_alert_host_id_last_at", "alert", ["host_id", "last_at"])
    op.create_index("ix_alert_incident_id", "alert", ["incident_id"])
    op.create_index("ix_alert_state_last_at", "alert", ["state", "last_at"])
    op.create_index(
        "ix_alert_trigger_id_fingerprint_last_at", "alert", ["trigger_id", "fingerprint", "last_at"]
    )
    op.create_table(
        "channel",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("locale", sa.Text(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("shown", JSONB(none_as_null=True), nullable=False),
        sa.Column("ciphertext", sa.LargeBinary(), nullable=False),
        sa.Column("nonce", sa.LargeBinary(), nullable=False),
        sa.Column("wrapped_key", sa.LargeBinary(), nullable=False),
        sa.Column("key_version", sa.Integer(), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind IN ('webhook', 'slack', 'email')", name="ck_channel_kind"),
        sa.CheckConstraint("locale IN ('en', 'zh')", name="ck_channel_locale"),
        sa.ForeignKeyConstraint(["created_by"], ["user_account.id"], name="fk_channel_created_by"),
        sa.PrimaryKeyConstraint("id", name="pk_channel"),
        sa.UniqueConstraint("name", name="uq_channel_name"),
    )
    op.create_table(
        "notice",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("channel_id", sa.Uuid(), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("firing_id", sa.Uuid(), nullable=True),
        sa.Column("host_id", sa.Uuid(), nullable=True),
        sa.Column("message", JSONB(none_as_null=True), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("not_before", sa.DateTime(timezone=True), nullable=False),
        sa.Column("failure", JSONB(none_as_null=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("about IN ('firing', 'test')", name="ck_notice_about"),
        sa.CheckConstraint("state IN ('queued', 'sent', 'dead')", name="ck_notice_state"),
        sa.ForeignKeyConstraint(
            ["channel_id"], ["channel.id"], name="fk_notice_channel_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["firing_id"], ["firing.id"], name="fk_notice_firing_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_notice_host_id"),
        sa.PrimaryKeyConstraint("id", name="pk_notice"),
        sa.UniqueConstraint("channel_id", "firing_id", name="uq_notice_channel_id_firing_id"),
        sa.UniqueConstraint("number", name="uq_notice_number"),
    )
    op.create_index("ix_notice_channel_id", "notice", ["channel_id"])
    op.create_index("ix_notice_firing_id", "notice", ["firing_id"])
    op.create_index(
        "ix_notice_queued", "notice", ["not_before"], postgresql_where=sa.text("state = 'queued'")
    )
    op.add_column("diagnosis", sa.Column("source", sa.Text(), nullable=False, server_default="manual"))
    op.create_check_constraint(op.f("ck_diagnosis_source"), "diagnosis", "source IN ('manual', 'trigger')")
    op.drop_constraint(op.f("ck_capture_source"), "capture", type_="check")
    op.create_check_constraint(
        op.f("ck_capture_source"), "capture", "source IN ('manual', 'import', 'api', 'schedule', 'trigger')"
    )


def downgrade() -> None:
    op.drop_constraint(op.f("ck_capture_source"), "capture", type_="check")
    op.execute("UPDATE capture SET source = 'api' WHERE source = 'trigger'")
    op.create_check_constraint(op.f("ck_capture_source"), "capture", "source IN ('manual', 'import', 'api', 'schedule')")
    op.drop_constraint(op.f("ck_diagnosis_source"), "diagnosis", type_="check")
    op.drop_column("diagnosis", "source")
    for table in reversed(TABLES):
        op.drop_table(table)
