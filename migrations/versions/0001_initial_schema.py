"""Create every table, index, function and trigger."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from schema_functions import FUNCTIONS, TRIGGERS
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# In the order in which they can be dropped.
TABLES = (
    "series_chunk",
    "result_table",
    "notification",
    "host_fact",
    "event",
    "alert",
    "trigger_response",
    "profile",
    "artifact",
    "run_collector",
    "report_visit",
    "removal",
    "incident_run",
    "finding",
    "evaluation",
    "diagnosis",
    "verification",
    "upload_address",
    "schedule_firing",
    "run",
    "report_share",
    "verdict_pin",
    "series_day",
    "report_version",
    "fix",
    "capture",
    "watcher",
    "trigger_delivery",
    "threshold",
    "step_waiver",
    "step_verdict",
    "series",
    "schedule_host",
    "report",
    "preflight",
    "pin",
    "oncall_shift",
    "oncall_override",
    "maintenance_window",
    "login_flow",
    "kill_switch",
    "journal_entry",
    "incident_playbook",
    "incident_participant",
    "incident_origin",
    "incident_host",
    "incident_comment",
    "hypothesis",
    "grafana_annotation",
    "finding_mute",
    "cause_outcome",
    "reported_event_host",
    "user_identity",
    "unattended_tier",
    "trigger",
    "storage_check",
    "service",
    "schedule",
    "rotation",
    "retention_policy",
    "profile_comparison",
    "network_rule",
    "login_session",
    "login_link",
    "incident",
    "idempotency_key",
    "host",
    "channel",
    "api_token",
    "reported_event",
    "user_account",
    "process_heartbeat",
    "oidc_provider",
    "login_attempt",
    "credential",
    "blob_deletion",
    "audit_entry",
)


def upgrade() -> None:
    for function in FUNCTIONS.values():
        op.execute(function)
    op.create_table(
        "audit_entry",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("seq", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor_id", sa.Uuid(), nullable=True),
        sa.Column("actor_name", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("resource_kind", sa.Text(), nullable=False),
        sa.Column("resource_id", sa.Text(), nullable=False),
        sa.Column("detail", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column("prev_hash", sa.LargeBinary(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_entry")),
        sa.UniqueConstraint("seq", name=op.f("uq_audit_entry_seq")),
    )
    op.create_table(
        "blob_deletion",
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_blob_deletion")),
    )
    op.create_index(op.f("ix_blob_deletion_at"), "blob_deletion", ["at"], unique=False)
    op.create_table(
        "credential",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("username", sa.Text(), nullable=True),
        sa.Column("ciphertext", sa.LargeBinary(), nullable=True),
        sa.Column("nonce", sa.LargeBinary(), nullable=True),
        sa.Column("wrapped_key", sa.LargeBinary(), nullable=True),
        sa.Column("key_version", sa.Integer(), nullable=True),
        sa.Column("public", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "kind IN ('key', 'generated_key', 'certificate', 'agent', 'password')",
            name=op.f("ck_credential_kind"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_credential")),
        sa.UniqueConstraint("name", name=op.f("uq_credential_name")),
    )
    op.create_table(
        "login_attempt",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_login_attempt")),
    )
    op.create_index(op.f("ix_login_attempt_account_at"), "login_attempt", ["account", "at"], unique=False)
    op.create_index(op.f("ix_login_attempt_address_at"), "login_attempt", ["address", "at"], unique=False)
    op.create_table(
        "oidc_provider",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("singleton", sa.Boolean(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("issuer", sa.Text(), nullable=False),
        sa.Column("client_id", sa.Text(), nullable=False),
        sa.Column("scopes", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("groups_claim", sa.Text(), nullable=False),
        sa.Column("name_claim", sa.Text(), nullable=False),
        sa.Column("roles", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("default_role", sa.Text(), nullable=True),
        sa.Column("session_hours", sa.Integer(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("ciphertext", sa.LargeBinary(), nullable=True),
        sa.Column("nonce", sa.LargeBinary(), nullable=True),
        sa.Column("wrapped_key", sa.LargeBinary(), nullable=True),
        sa.Column("key_version", sa.Integer(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "default_role IN ('viewer', 'investigator', 'oncall', 'admin')",
            name=op.f("ck_oidc_provider_default_role"),
        ),
        sa.CheckConstraint(
            "(ciphertext IS NULL) = (key_version IS NULL)", name=op.f("ck_oidc_provider_secret")
        ),
        sa.CheckConstraint("session_hours BETWEEN 1 AND 168", name=op.f("ck_oidc_provider_session_hours")),
        sa.CheckConstraint("singleton", name=op.f("ck_oidc_provider_singleton")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_oidc_provider")),
        sa.UniqueConstraint("singleton", name=op.f("uq_oidc_provider_singleton")),
    )
    op.create_table(
        "process_heartbeat",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("detail", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_process_heartbeat")),
    )
    op.create_table(
        "user_account",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=True),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("label_scope", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("locale", sa.Text(), nullable=False),
        sa.Column("disabled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("locale IN ('en', 'zh')", name=op.f("ck_user_account_locale")),
        sa.CheckConstraint(
            "role <> 'admin' OR label_scope = '{}'::jsonb", name=op.f("ck_user_account_admin_unscoped")
        ),
        sa.CheckConstraint(
            "role IN ('viewer', 'investigator', 'oncall', 'admin')", name=op.f("ck_user_account_role")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_user_account")),
        sa.UniqueConstraint("name", name=op.f("uq_user_account_name")),
    )
    op.create_table(
        "reported_event",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("t_ns", sa.BigInteger(), nullable=False),
        sa.Column("end_ns", sa.BigInteger(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("link", sa.Text(), nullable=True),
        sa.Column("everywhere", sa.Boolean(), nullable=False),
        sa.Column("target", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("external_id", sa.Text(), nullable=True),
        sa.Column("reported_by", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("withdrawn_by", sa.Uuid(), nullable=True),
        sa.CheckConstraint(
            "(withdrawn_at IS NULL) = (withdrawn_by IS NULL)", name=op.f("ck_reported_event_withdrawn")
        ),
        sa.CheckConstraint("end_ns > t_ns", name=op.f("ck_reported_event_span")),
        sa.ForeignKeyConstraint(["reported_by"], ["user_account.id"], name=op.f("fk_reported_event_reported_by")),
        sa.ForeignKeyConstraint(
            ["withdrawn_by"], ["user_account.id"], name=op.f("fk_reported_event_withdrawn_by")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reported_event")),
        sa.UniqueConstraint("reported_by", "external_id", name=op.f("uq_reported_event_reported_by_external_id")),
    )
    op.create_index(
        "ix_reported_event_active",
        "reported_event",
        ["t_ns"],
        unique=False,
        postgresql_where=sa.text("withdrawn_at IS NULL"),
    )
    op.create_table(
        "api_token",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("token_hash", sa.LargeBinary(), nullable=False),
        sa.Column("prefix", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("purpose IN ('events')", name=op.f("ck_api_token_purpose")),
        sa.CheckConstraint(
            "role IN ('viewer', 'investigator', 'oncall', 'admin')", name=op.f("ck_api_token_role")
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_api_token_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_token")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_api_token_token_hash")),
    )
    op.create_index(op.f("ix_api_token_user_id"), "api_token", ["user_id"], unique=False)
    op.create_table(
        "channel",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("locale", sa.Text(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=True),
        sa.Column("destination", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("ciphertext", sa.LargeBinary(), nullable=False),
        sa.Column("nonce", sa.LargeBinary(), nullable=False),
        sa.Column("wrapped_key", sa.LargeBinary(), nullable=False),
        sa.Column("key_version", sa.Integer(), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind IN ('webhook', 'slack', 'email', 'grafana')", name=op.f("ck_channel_kind")),
        sa.CheckConstraint("locale IN ('en', 'zh')", name=op.f("ck_channel_locale")),
        sa.ForeignKeyConstraint(["created_by"], ["user_account.id"], name=op.f("fk_channel_created_by")),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_channel_user_id"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_channel")),
        sa.UniqueConstraint("name", name=op.f("uq_channel_name")),
    )
    op.create_index(op.f("ix_channel_user_id"), "channel", ["user_id"], unique=False)
    op.create_table(
        "host",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("port", sa.Integer(), nullable=False),
        sa.Column("username", sa.Text(), nullable=False),
        sa.Column("credential_id", sa.Uuid(), nullable=True),
        sa.Column("sudo", sa.Text(), nullable=False),
        sa.Column("sudo_credential_id", sa.Uuid(), nullable=True),
        sa.Column("jump_host_id", sa.Uuid(), nullable=True),
        sa.Column("labels", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("host_key_type", sa.Text(), nullable=True),
        sa.Column("host_key", sa.LargeBinary(), nullable=True),
        sa.Column("host_key_fingerprint", sa.Text(), nullable=True),
        sa.Column("host_key_trusted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("host_key_trusted_by", sa.Uuid(), nullable=True),
        sa.Column("max_silence_s", sa.Integer(), nullable=False),
        sa.Column("allows_ptrace", sa.Boolean(), nullable=False),
        sa.Column("facts", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("facts_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("machine_id", sa.Text(), nullable=True),
        sa.Column("boot_id", sa.Text(), nullable=True),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("state <> 'active' OR credential_id IS NOT NULL", name=op.f("ck_host_reachable")),
        sa.CheckConstraint("state IN ('active', 'imported', 'retired')", name=op.f("ck_host_state")),
        sa.CheckConstraint("sudo IN ('none', 'nopasswd', 'password')", name=op.f("ck_host_sudo")),
        sa.CheckConstraint("jump_host_id <> id", name=op.f("ck_host_jump_host")),
        sa.CheckConstraint("port BETWEEN 1 AND 65535", name=op.f("ck_host_port")),
        sa.ForeignKeyConstraint(["created_by"], ["user_account.id"], name=op.f("fk_host_created_by")),
        sa.ForeignKeyConstraint(["credential_id"], ["credential.id"], name=op.f("fk_host_credential_id")),
        sa.ForeignKeyConstraint(
            ["host_key_trusted_by"], ["user_account.id"], name=op.f("fk_host_host_key_trusted_by")
        ),
        sa.ForeignKeyConstraint(["jump_host_id"], ["host.id"], name=op.f("fk_host_jump_host_id")),
        sa.ForeignKeyConstraint(
            ["sudo_credential_id"], ["credential.id"], name=op.f("fk_host_sudo_credential_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_host")),
    )
    op.create_index(op.f("ix_host_labels"), "host", ["labels"], unique=False, postgresql_using="gin")
    op.create_index(
        "uq_host_name_active", "host", ["name"], unique=True, postgresql_where=sa.text("state = 'active'")
    )
    op.create_table(
        "idempotency_key",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("request_hash", sa.LargeBinary(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("body", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_idempotency_key_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_idempotency_key")),
        sa.UniqueConstraint("user_id", "key", name=op.f("uq_idempotency_key_user_id_key")),
    )
    op.create_table(
        "incident",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("symptom", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("severity", sa.SmallInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("window_from", sa.DateTime(timezone=True), nullable=False),
        sa.Column("window_to", sa.DateTime(timezone=True), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("resolved_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("autopilot", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.CheckConstraint(
            "state IN ('open', 'investigating', 'identified', 'mitigated', 'resolved')",
            name=op.f("ck_incident_state"),
        ),
        sa.CheckConstraint("severity BETWEEN 1 AND 4", name=op.f("ck_incident_severity")),
        sa.CheckConstraint("window_to >= window_from", name=op.f("ck_incident_window")),
        sa.ForeignKeyConstraint(["created_by"], ["user_account.id"], name=op.f("fk_incident_created_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_incident")),
        sa.UniqueConstraint("number", name=op.f("uq_incident_number")),
    )
    op.create_index(op.f("ix_incident_state_number"), "incident", ["state", "number"], unique=False)
    op.create_index(
        "ix_incident_symptom_ids",
        "incident",
        [sa.literal_column("mentioned_ids(symptom)")],
        unique=False,
        postgresql_using="gin",
    )
    op.create_table(
        "login_link",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("token_hash", sa.LargeBinary(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_login_link_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_login_link")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_login_link_token_hash")),
    )
    op.create_index(op.f("ix_login_link_user_id"), "login_link", ["user_id"], unique=False)
    op.create_table(
        "login_session",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("token_hash", sa.LargeBinary(), nullable=False),
        sa.Column("csrf_token", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("proved_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_login_session_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_login_session")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_login_session_token_hash")),
    )
    op.create_index(op.f("ix_login_session_user_id"), "login_session", ["user_id"], unique=False)
    op.create_table(
        "network_rule",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("cidr", postgresql.CIDR(), nullable=False),
        sa.Column("port_from", sa.Integer(), nullable=False),
        sa.Column("port_to", sa.Integer(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "port_from BETWEEN 1 AND port_to AND port_to <= 65535", name=op.f("ck_network_rule_ports")
        ),
        sa.ForeignKeyConstraint(["created_by"], ["user_account.id"], name=op.f("fk_network_rule_created_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_network_rule")),
    )
    op.create_table(
        "profile_comparison",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("a", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("b", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("normalize", sa.Boolean(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("failure", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("result_key", sa.Text(), nullable=True),
        sa.Column("requested_by", sa.Uuid(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("stored_size", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("removed_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'ready', 'failed')", name=op.f("ck_profile_comparison_state")
        ),
        sa.ForeignKeyConstraint(
            ["requested_by"], ["user_account.id"], name=op.f("fk_profile_comparison_requested_by")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_profile_comparison")),
    )
    op.create_index(
        "ix_profile_comparison_a_ids",
        "profile_comparison",
        [sa.literal_column("mentioned_ids(a)")],
        unique=False,
        postgresql_using="gin",
    )
    op.create_index(
        "ix_profile_comparison_b_ids",
        "profile_comparison",
        [sa.literal_column("mentioned_ids(b)")],
        unique=False,
        postgresql_using="gin",
    )
    op.create_index(
        "ix_profile_comparison_kept",
        "profile_comparison",
        ["id"],
        unique=False,
        postgresql_where=sa.text("removed_at IS NULL"),
    )
    op.create_index(
        op.f("ix_profile_comparison_result_key"), "profile_comparison", ["result_key"], unique=False
    )
    op.create_table(
        "retention_policy",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("days", sa.Integer(), nullable=True),
        sa.Column("max_bytes", sa.BigInteger(), nullable=True),
        sa.Column("cursor", sa.Uuid(), nullable=True),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("updated_by", sa.Uuid(), nullable=True),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "kind IN ('recordings', 'texts', 'imports', 'profiles', 'comparisons', 'series', 'tables', 'events')",
            name=op.f("ck_retention_policy_kind"),
        ),
        sa.CheckConstraint("days >= 1 AND max_bytes >= 0", name=op.f("ck_retention_policy_limits")),
        sa.ForeignKeyConstraint(
            ["updated_by"], ["user_account.id"], name=op.f("fk_retention_policy_updated_by")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_retention_policy")),
        sa.UniqueConstraint("kind", name=op.f("uq_retention_policy_kind")),
    )
    op.create_index(
        "ix_retention_policy_due",
        "retention_policy",
        ["due_at"],
        unique=False,
        postgresql_where=sa.text("due_at IS NOT NULL"),
    )
    op.create_table(
        "rotation",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("zone", sa.Text(), nullable=False),
        sa.Column("handover", sa.Text(), nullable=False),
        sa.Column("first_day", sa.Date(), nullable=True),
        sa.Column("days", sa.Integer(), nullable=False),
        sa.Column("people", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("source", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("accounts", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("calendar", sa.Text(), nullable=True),
        sa.Column("ciphertext", sa.LargeBinary(), nullable=True),
        sa.Column("nonce", sa.LargeBinary(), nullable=True),
        sa.Column("wrapped_key", sa.LargeBinary(), nullable=True),
        sa.Column("key_version", sa.Integer(), nullable=True),
        sa.Column("fetch_after", sa.DateTime(timezone=True), nullable=True),
        sa.Column("fetched_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("failure", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind IN ('simple', 'calendar', 'pagerduty')", name=op.f("ck_rotation_kind")),
        sa.CheckConstraint("(ciphertext IS NULL) = (key_version IS NULL)", name=op.f("ck_rotation_secret")),
        sa.CheckConstraint("days BETWEEN 1 AND 366", name=op.f("ck_rotation_days")),
        sa.ForeignKeyConstraint(["created_by"], ["user_account.id"], name=op.f("fk_rotation_created_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rotation")),
        sa.UniqueConstraint("name", name=op.f("uq_rotation_name")),
    )
    op.create_index(op.f("ix_rotation_fetch_after"), "rotation", ["fetch_after"], unique=False)
    op.create_table(
        "schedule",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("cron", sa.Text(), nullable=True),
        sa.Column("local_time", sa.DateTime(), nullable=True),
        sa.Column("zone", sa.Text(), nullable=False),
        sa.Column("capture", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("selector", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("catch_up", sa.Text(), nullable=False),
        sa.Column("tolerance_s", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("next_due", sa.DateTime(timezone=True), nullable=True),
        sa.Column("owner_id", sa.Uuid(), nullable=False),
        sa.Column("deep_allowed_by", sa.Uuid(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "(kind = 'cron') = (cron IS NOT NULL) AND (kind = 'once') = (local_time IS NOT NULL)",
            name=op.f("ck_schedule_when"),
        ),
        sa.CheckConstraint("(state = 'active') = (next_due IS NOT NULL)", name=op.f("ck_schedule_due")),
        sa.CheckConstraint("catch_up IN ('one', 'none')", name=op.f("ck_schedule_catch_up")),
        sa.CheckConstraint("kind IN ('once', 'cron')", name=op.f("ck_schedule_kind")),
        sa.CheckConstraint("state IN ('active', 'paused', 'done')", name=op.f("ck_schedule_state")),
        sa.ForeignKeyConstraint(["created_by"], ["user_account.id"], name=op.f("fk_schedule_created_by")),
        sa.ForeignKeyConstraint(
            ["deep_allowed_by"], ["user_account.id"], name=op.f("fk_schedule_deep_allowed_by")
        ),
        sa.ForeignKeyConstraint(["owner_id"], ["user_account.id"], name=op.f("fk_schedule_owner_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_schedule")),
        sa.UniqueConstraint("name", name=op.f("uq_schedule_name")),
    )
    op.create_index(
        "ix_schedule_due",
        "schedule",
        ["next_due"],
        unique=False,
        postgresql_where=sa.text("state = 'active'"),
    )
    op.create_index(op.f("ix_schedule_owner_id"), "schedule", ["owner_id"], unique=False)
    op.create_table(
        "service",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("selector", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("locate", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("source_kind", sa.Text(), nullable=False),
        sa.Column("source", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("ciphertext", sa.LargeBinary(), nullable=True),
        sa.Column("nonce", sa.LargeBinary(), nullable=True),
        sa.Column("wrapped_key", sa.LargeBinary(), nullable=True),
        sa.Column("key_version", sa.Integer(), nullable=True),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "(ciphertext IS NULL) = (key_version IS NULL) AND (ciphertext IS NULL OR source_kind = 'prometheus')",
            name=op.f("ck_service_token"),
        ),
        sa.CheckConstraint(
            "source_kind IN ('none', 'prometheus', 'access_log', 'accepts')",
            name=op.f("ck_service_source_kind"),
        ),
        sa.ForeignKeyConstraint(["created_by"], ["user_account.id"], name=op.f("fk_service_created_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_service")),
        sa.UniqueConstraint("name", name=op.f("uq_service_name")),
    )
    op.create_table(
        "storage_check",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("result", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("requested_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("kind IN ('measure', 'check')", name=op.f("ck_storage_check_kind")),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'done', 'failed')", name=op.f("ck_storage_check_state")
        ),
        sa.ForeignKeyConstraint(
            ["requested_by"], ["user_account.id"], name=op.f("fk_storage_check_requested_by")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_storage_check")),
    )
    op.create_index(op.f("ix_storage_check_kind_id"), "storage_check", ["kind", "id"], unique=False)
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
        sa.Column("options", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("channel_ids", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("owner_id", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_alert_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("alert_count", sa.Integer(), nullable=False),
        sa.Column("duplicate_count", sa.Integer(), nullable=False),
        sa.Column("rejected_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "rejection_reason", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True
        ),
        sa.CheckConstraint(
            "(proof = 'token') = (token_hash IS NOT NULL) AND (proof = 'hmac') = (ciphertext IS NOT NULL)",
            name=op.f("ck_trigger_secret"),
        ),
        sa.CheckConstraint(
            "kind IN ('alertmanager', 'grafana', 'pagerduty', 'generic')", name=op.f("ck_trigger_kind")
        ),
        sa.CheckConstraint("proof IN ('hmac', 'token')", name=op.f("ck_trigger_proof")),
        sa.ForeignKeyConstraint(["owner_id"], ["user_account.id"], name=op.f("fk_trigger_owner_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_trigger")),
        sa.UniqueConstraint("name", name=op.f("uq_trigger_name")),
    )
    op.create_table(
        "unattended_tier",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("label_name", sa.Text(), nullable=False),
        sa.Column("label_value", sa.Text(), nullable=False),
        sa.Column("tier", sa.Text(), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("tier IN ('standard')", name=op.f("ck_unattended_tier_tier")),
        sa.ForeignKeyConstraint(
            ["created_by"], ["user_account.id"], name=op.f("fk_unattended_tier_created_by")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_unattended_tier")),
        sa.UniqueConstraint(
            "label_name", "label_value", name=op.f("uq_unattended_tier_label_name_label_value")
        ),
    )
    op.create_table(
        "user_identity",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("issuer", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("groups", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_user_identity_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_user_identity")),
        sa.UniqueConstraint("issuer", "subject", name=op.f("uq_user_identity_issuer_subject")),
        sa.UniqueConstraint("user_id", name=op.f("uq_user_identity_user_id")),
    )
    op.create_table(
        "reported_event_host",
        sa.Column("reported_event_id", sa.Uuid(), nullable=False),
        sa.Column("host_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["reported_event_id"],
            ["reported_event.id"],
            name=op.f("fk_reported_event_host_reported_event_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["host_id"], ["host.id"], name=op.f("fk_reported_event_host_host_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("reported_event_id", "host_id", name=op.f("pk_reported_event_host")),
    )
    op.create_index(op.f("ix_reported_event_host_host_id"), "reported_event_host", ["host_id"], unique=False)
    op.create_table(
        "cause_outcome",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("incident_id", sa.Uuid(), nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("right", sa.Boolean(), nullable=False),
        sa.Column("true_cause", sa.Text(), nullable=True),
        sa.Column("pins", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("by", sa.Uuid(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["by"], ["user_account.id"], name=op.f("fk_cause_outcome_by")),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name=op.f("fk_cause_outcome_incident_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cause_outcome")),
    )
    op.create_index(op.f("ix_cause_outcome_cause"), "cause_outcome", ["cause"], unique=False)
    op.create_index(op.f("ix_cause_outcome_incident_id"), "cause_outcome", ["incident_id"], unique=False)
    op.create_table(
        "finding_mute",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("host_id", sa.Uuid(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["by"], ["user_account.id"], name=op.f("fk_finding_mute_by")),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=op.f("fk_finding_mute_host_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_finding_mute")),
    )
    op.create_index(op.f("ix_finding_mute_host_id_rule"), "finding_mute", ["host_id", "rule"], unique=False)
    op.create_table(
        "grafana_annotation",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("channel_id", sa.Uuid(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("body", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("is_deleted", sa.Boolean(), nullable=False),
        sa.Column("grafana_id", sa.BigInteger(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("not_before", sa.DateTime(timezone=True), nullable=False),
        sa.Column("failure", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state IN ('queued', 'sent', 'failed', 'deleted')", name=op.f("ck_grafana_annotation_state")
        ),
        sa.ForeignKeyConstraint(
            ["channel_id"], ["channel.id"], name=op.f("fk_grafana_annotation_channel_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_grafana_annotation")),
        sa.UniqueConstraint("channel_id", "key", name=op.f("uq_grafana_annotation_channel_id_key")),
    )
    op.create_index(
        "ix_grafana_annotation_queued",
        "grafana_annotation",
        ["not_before"],
        unique=False,
        postgresql_where=sa.text("state = 'queued'"),
    )
    op.create_table(
        "hypothesis",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("incident_id", sa.Uuid(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("summary", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("primary", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "state IN ('open', 'refuted', 'likely', 'confirmed')", name=op.f("ck_hypothesis_state")
        ),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name=op.f("fk_hypothesis_incident_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_hypothesis")),
        sa.UniqueConstraint("incident_id", "key", name=op.f("uq_hypothesis_incident_id_key")),
    )
    op.create_table(
        "incident_comment",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("incident_id", sa.Uuid(), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("ref", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("earlier", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("mentions", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("by", sa.Uuid(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("edited_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("withdrawn_by", sa.Uuid(), nullable=True),
        sa.CheckConstraint(
            "about IN ('incident', 'step', 'hypothesis', 'pin')", name=op.f("ck_incident_comment_about")
        ),
        sa.ForeignKeyConstraint(["by"], ["user_account.id"], name=op.f("fk_incident_comment_by")),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name=op.f("fk_incident_comment_incident_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["withdrawn_by"], ["user_account.id"], name=op.f("fk_incident_comment_withdrawn_by")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_incident_comment")),
    )
    op.create_index(
        op.f("ix_incident_comment_incident_id_id"), "incident_comment", ["incident_id", "id"], unique=False
    )
    op.create_table(
        "incident_host",
        sa.Column("incident_id", sa.Uuid(), nullable=False),
        sa.Column("host_id", sa.Uuid(), nullable=False),
        sa.Column("scope", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "role IN ('suspect', 'control', 'dependency')", name=op.f("ck_incident_host_role")
        ),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=op.f("fk_incident_host_host_id")),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name=op.f("fk_incident_host_incident_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("incident_id", "host_id", name=op.f("pk_incident_host")),
    )
    op.create_index(op.f("ix_incident_host_host_id"), "incident_host", ["host_id"], unique=False)
    op.create_table(
        "incident_origin",
        sa.Column("incident_id", sa.Uuid(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("culprit", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("redacted", sa.Boolean(), nullable=False),
        sa.Column("written_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("imported_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("imported_by", sa.Uuid(), nullable=True),
        sa.Column("expected", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("compared", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("authors", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.ForeignKeyConstraint(
            ["imported_by"], ["user_account.id"], name=op.f("fk_incident_origin_imported_by")
        ),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name=op.f("fk_incident_origin_incident_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("incident_id", name=op.f("pk_incident_origin")),
    )
    op.create_index(op.f("ix_incident_origin_sha256"), "incident_origin", ["sha256"], unique=False)
    op.create_table(
        "incident_participant",
        sa.Column("incident_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("joined_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["incident_id"],
            ["incident.id"],
            name=op.f("fk_incident_participant_incident_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_incident_participant_user_id")
        ),
        sa.PrimaryKeyConstraint("incident_id", "user_id", name=op.f("pk_incident_participant")),
    )
    op.create_table(
        "incident_playbook",
        sa.Column("incident_id", sa.Uuid(), nullable=False),
        sa.Column("playbook_id", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("content", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("dismissed_reason", sa.Text(), nullable=True),
        sa.Column("dismissed_by", sa.Uuid(), nullable=True),
        sa.Column("dismissed_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["dismissed_by"], ["user_account.id"], name=op.f("fk_incident_playbook_dismissed_by")
        ),
        sa.ForeignKeyConstraint(
            ["incident_id"],
            ["incident.id"],
            name=op.f("fk_incident_playbook_incident_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("incident_id", "playbook_id", name=op.f("pk_incident_playbook")),
    )
    op.create_table(
        "journal_entry",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("incident_id", sa.Uuid(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("params", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("by", sa.Uuid(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["by"], ["user_account.id"], name=op.f("fk_journal_entry_by")),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name=op.f("fk_journal_entry_incident_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_journal_entry")),
    )
    op.create_index(
        op.f("ix_journal_entry_incident_id_version"),
        "journal_entry",
        ["incident_id", "version"],
        unique=False,
    )
    op.create_table(
        "kill_switch",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("host_id", sa.Uuid(), nullable=True),
        sa.Column("label_name", sa.Text(), nullable=True),
        sa.Column("label_value", sa.Text(), nullable=True),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("activated_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deactivated_by", sa.Uuid(), nullable=True),
        sa.Column("deactivated_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(kind = 'host') = (host_id IS NOT NULL) AND (kind = 'label') = (label_name IS NOT NULL) AND (label_name IS NULL) = (label_value IS NULL)",
            name=op.f("ck_kill_switch_scope"),
        ),
        sa.CheckConstraint("kind IN ('everywhere', 'label', 'host')", name=op.f("ck_kill_switch_kind")),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=op.f("fk_kill_switch_host_id")),
        sa.ForeignKeyConstraint(["deactivated_by"], ["user_account.id"], name=op.f("fk_kill_switch_deactivated_by")),
        sa.ForeignKeyConstraint(["activated_by"], ["user_account.id"], name=op.f("fk_kill_switch_activated_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_kill_switch")),
    )
    op.create_index(
        "uq_kill_switch_place",
        "kill_switch",
        ["place"],
        unique=True,
        postgresql_where=sa.text("deactivated_at IS NULL"),
    )
    op.create_table(
        "login_flow",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("provider_id", sa.Uuid(), nullable=False),
        sa.Column("provider_version", sa.Integer(), nullable=False),
        sa.Column("state_hash", sa.LargeBinary(), nullable=False),
        sa.Column("browser_hash", sa.LargeBinary(), nullable=False),
        sa.Column("next", sa.Text(), nullable=False),
        sa.Column("attempt_id", sa.Uuid(), nullable=False),
        sa.Column("session_id", sa.Uuid(), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["provider_id"], ["oidc_provider.id"], name=op.f("fk_login_flow_provider_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["session_id"], ["login_session.id"], name=op.f("fk_login_flow_session_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_login_flow")),
        sa.UniqueConstraint("state_hash", name=op.f("uq_login_flow_state_hash")),
    )
    op.create_index(op.f("ix_login_flow_expires_at"), "login_flow", ["expires_at"], unique=False)
    op.create_index(op.f("ix_login_flow_provider_id"), "login_flow", ["provider_id"], unique=False)
    op.create_index(op.f("ix_login_flow_session_id"), "login_flow", ["session_id"], unique=False)
    op.create_table(
        "maintenance_window",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("starts_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("cron", sa.Text(), nullable=True),
        sa.Column("zone", sa.Text(), nullable=True),
        sa.Column("minutes", sa.Integer(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("host_id", sa.Uuid(), nullable=True),
        sa.Column("selector", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "(cron IS NULL) = (zone IS NULL) AND (cron IS NULL) = (minutes IS NULL) AND minutes > 0",
            name=op.f("ck_maintenance_window_recurs"),
        ),
        sa.CheckConstraint(
            "cron IS NOT NULL OR ends_at IS NOT NULL", name=op.f("ck_maintenance_window_ends")
        ),
        sa.CheckConstraint("host_id IS NULL OR selector IS NULL", name=op.f("ck_maintenance_window_where")),
        sa.CheckConstraint("starts_at < ends_at", name=op.f("ck_maintenance_window_span")),
        sa.ForeignKeyConstraint(
            ["created_by"], ["user_account.id"], name=op.f("fk_maintenance_window_created_by")
        ),
        sa.ForeignKeyConstraint(
            ["host_id"], ["host.id"], name=op.f("fk_maintenance_window_host_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_maintenance_window")),
    )
    op.create_index(op.f("ix_maintenance_window_ends_at"), "maintenance_window", ["ends_at"], unique=False)
    op.create_table(
        "oncall_override",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("rotation_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("starts_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("starts_at < ends_at", name=op.f("ck_oncall_override_span")),
        sa.ForeignKeyConstraint(
            ["created_by"], ["user_account.id"], name=op.f("fk_oncall_override_created_by")
        ),
        sa.ForeignKeyConstraint(
            ["rotation_id"], ["rotation.id"], name=op.f("fk_oncall_override_rotation_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name=op.f("fk_oncall_override_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_oncall_override")),
    )
    op.create_index(op.f("ix_oncall_override_rotation_id"), "oncall_override", ["rotation_id"], unique=False)
    op.create_table(
        "oncall_shift",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("rotation_id", sa.Uuid(), nullable=False),
        sa.Column("starts_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["rotation_id"], ["rotation.id"], name=op.f("fk_oncall_shift_rotation_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_oncall_shift")),
    )
    op.create_index(
        op.f("ix_oncall_shift_rotation_id_ends_at"), "oncall_shift", ["rotation_id", "ends_at"], unique=False
    )
    op.create_table(
        "pin",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("incident_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("ref", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("view", sa.Text(), nullable=False),
        sa.Column("snapshot", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("artifact", sa.Text(), nullable=True),
        sa.Column("step", sa.Text(), nullable=True),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "kind IN ('range', 'frame', 'row', 'line', 'comparison')", name=op.f("ck_pin_kind")
        ),
        sa.ForeignKeyConstraint(["created_by"], ["user_account.id"], name=op.f("fk_pin_created_by")),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name=op.f("fk_pin_incident_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pin")),
    )
    op.create_index(op.f("ix_pin_incident_id"), "pin", ["incident_id"], unique=False)
    op.create_index(
        "ix_pin_ref_ids",
        "pin",
        [sa.literal_column("mentioned_ids(ref)")],
        unique=False,
        postgresql_using="gin",
    )
    op.create_index(
        "ix_pin_snapshot_ids",
        "pin",
        [sa.literal_column("mentioned_ids(snapshot)")],
        unique=False,
        postgresql_using="gin",
    )
    op.create_table(
        "preflight",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("host_id", sa.Uuid(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("requested_by", sa.Uuid(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("facts", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("checks", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("collectors", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("clock", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("timings", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("failure", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'done', 'failed')", name=op.f("ck_preflight_state")
        ),
        sa.ForeignKeyConstraint(
            ["host_id"], ["host.id"], name=op.f("fk_preflight_host_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["requested_by"], ["user_account.id"], name=op.f("fk_preflight_requested_by")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_preflight")),
    )
    op.create_index(op.f("ix_preflight_host_id"), "preflight", ["host_id"], unique=False)
    op.create_table(
        "report",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("incident_id", sa.Uuid(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("zone", sa.Text(), nullable=False),
        sa.Column("preset", sa.Text(), nullable=False),
        sa.Column("kinds", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("words", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("impact", sa.Text(), nullable=False),
        sa.Column("detected_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("mitigated_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("follow_ups", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("comments", sa.Boolean(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("frozen", sa.Integer(), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("language IN ('en', 'zh')", name=op.f("ck_report_language")),
        sa.CheckConstraint("preset IN ('internal', 'customer')", name=op.f("ck_report_preset")),
        sa.ForeignKeyConstraint(["created_by"], ["user_account.id"], name=op.f("fk_report_created_by")),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name=op.f("fk_report_incident_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_report")),
    )
    op.create_index(op.f("ix_report_incident_id"), "report", ["incident_id"], unique=False)
    op.create_table(
        "schedule_host",
        sa.Column("schedule_id", sa.Uuid(), nullable=False),
        sa.Column("host_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["host_id"], ["host.id"], name=op.f("fk_schedule_host_host_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["schedule_id"], ["schedule.id"], name=op.f("fk_schedule_host_schedule_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("schedule_id", "host_id", name=op.f("pk_schedule_host")),
    )
    op.create_index(op.f("ix_schedule_host_host_id"), "schedule_host", ["host_id"], unique=False)
    op.create_table(
        "series",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("host_id", sa.Uuid(), nullable=False),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("labels", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("labels_key", sa.Text(), nullable=False),
        sa.Column("axis", sa.Text(), nullable=True),
        sa.Column("first_ns", sa.BigInteger(), nullable=False),
        sa.Column("last_ns", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=op.f("fk_series_host_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_series")),
        sa.UniqueConstraint(
            "host_id", "metric", "labels_key", name=op.f("uq_series_host_id_metric_labels_key")
        ),
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
            "verdict IN ('supports', 'refutes', 'inconclusive')", name=op.f("ck_step_verdict_verdict")
        ),
        sa.ForeignKeyConstraint(["by"], ["user_account.id"], name=op.f("fk_step_verdict_by")),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=op.f("fk_step_verdict_host_id")),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name=op.f("fk_step_verdict_incident_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_step_verdict")),
    )
    op.create_index(
        op.f("ix_step_verdict_incident_id_step"), "step_verdict", ["incident_id", "step"], unique=False
    )
    op.create_table(
        "step_waiver",
        sa.Column("incident_id", sa.Uuid(), nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["by"], ["user_account.id"], name=op.f("fk_step_waiver_by")),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name=op.f("fk_step_waiver_incident_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("incident_id", "step", name=op.f("pk_step_waiver")),
    )
    op.create_table(
        "threshold",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("label_name", sa.Text(), nullable=True),
        sa.Column("label_value", sa.Text(), nullable=True),
        sa.Column("host_id", sa.Uuid(), nullable=True),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("set_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=op.f("fk_threshold_host_id")),
        sa.ForeignKeyConstraint(["set_by"], ["user_account.id"], name=op.f("fk_threshold_set_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_threshold")),
    )
    op.create_index(op.f("ix_threshold_host_id"), "threshold", ["host_id"], unique=False)
    op.create_index(
        "uq_threshold_place",
        "threshold",
        [
            "name",
            sa.literal_column("coalesce(label_name, '')"),
            sa.literal_column("coalesce(label_value, '')"),
            sa.literal_column("coalesce(host_id, '00000000-0000-0000-0000-000000000000'::uuid)"),
        ],
        unique=True,
    )
    op.create_table(
        "trigger_delivery",
        sa.Column("trigger_id", sa.Uuid(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["trigger_id"], ["trigger.id"], name=op.f("fk_trigger_delivery_trigger_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("trigger_id", "digest", name=op.f("pk_trigger_delivery")),
    )
    op.create_index(op.f("ix_trigger_delivery_until"), "trigger_delivery", ["until"], unique=False)
    op.create_table(
        "watcher",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("host_id", sa.Uuid(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("lookback_s", sa.Integer(), nullable=False),
        sa.Column("lookback_bytes", sa.BigInteger(), nullable=False),
        sa.Column("stacks", sa.Boolean(), nullable=False),
        sa.Column("conditions", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("capture_spec", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("incident_id", sa.Uuid(), nullable=True),
        sa.Column("max_captures", sa.Integer(), nullable=False),
        sa.Column("capture_count", sa.Integer(), nullable=False),
        sa.Column("cooldown_s", sa.Integer(), nullable=False),
        sa.Column("last_capture_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("rejection", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("requested_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_by", sa.Uuid(), nullable=True),
        sa.Column("cancel_requested_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("heartbeat_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column("not_before", sa.DateTime(timezone=True), nullable=True),
        sa.Column("interruption_count", sa.Integer(), nullable=False),
        sa.Column("failure_count", sa.Integer(), nullable=False),
        sa.Column("wait_reason", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("failure", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("session_spec", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("cost", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("readings", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.CheckConstraint(
            "(kind = 'conditional') = (capture_spec IS NOT NULL)", name=op.f("ck_watcher_capture_spec")
        ),
        sa.CheckConstraint(
            "(state IN ('waiting', 'watching')) = (ended_at IS NULL)", name=op.f("ck_watcher_ended")
        ),
        sa.CheckConstraint("kind IN ('lookback', 'conditional')", name=op.f("ck_watcher_kind")),
        sa.CheckConstraint(
            "state IN ('waiting', 'watching', 'completed', 'expired', 'canceled', 'failed')",
            name=op.f("ck_watcher_state"),
        ),
        sa.ForeignKeyConstraint(["ended_by"], ["user_account.id"], name=op.f("fk_watcher_ended_by")),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=op.f("fk_watcher_host_id")),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name=op.f("fk_watcher_incident_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(["requested_by"], ["user_account.id"], name=op.f("fk_watcher_requested_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_watcher")),
        sa.UniqueConstraint("number", name=op.f("uq_watcher_number")),
    )
    op.create_index(
        "ix_watcher_due",
        "watcher",
        ["not_before"],
        unique=False,
        postgresql_where=sa.text("state = 'waiting'"),
    )
    op.create_index(op.f("ix_watcher_host_id"), "watcher", ["host_id"], unique=False)
    op.create_index(op.f("ix_watcher_incident_id"), "watcher", ["incident_id"], unique=False)
    op.create_index(
        "uq_watcher_open",
        "watcher",
        ["host_id", "kind"],
        unique=True,
        postgresql_where=sa.text("ended_at IS NULL"),
    )
    op.create_table(
        "capture",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("plan", sa.Text(), nullable=False),
        sa.Column("collectors", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=True),
        sa.Column("scope", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("diagnosis_id", sa.Uuid(), nullable=True),
        sa.Column("incident_id", sa.Uuid(), nullable=True),
        sa.Column("watcher_id", sa.Uuid(), nullable=True),
        sa.Column("requested_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("cancel_requested_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "source IN ('manual', 'import', 'api', 'schedule', 'trigger', 'watcher')",
            name=op.f("ck_capture_source"),
        ),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'done', 'partial', 'failed', 'canceled', 'expired')",
            name=op.f("ck_capture_state"),
        ),
        sa.ForeignKeyConstraint(
            ["diagnosis_id"],
            ["diagnosis.id"],
            name=op.f("fk_capture_diagnosis_id"),
            ondelete="SET NULL",
            use_alter=True,
        ),
        sa.ForeignKeyConstraint(
            ["incident_id"],
            ["incident.id"],
            name=op.f("fk_capture_incident_id"),
            ondelete="SET NULL",
            use_alter=True,
        ),
        sa.ForeignKeyConstraint(["requested_by"], ["user_account.id"], name=op.f("fk_capture_requested_by")),
        sa.ForeignKeyConstraint(
            ["watcher_id"], ["watcher.id"], name=op.f("fk_capture_watcher_id"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_capture")),
        sa.UniqueConstraint("number", name=op.f("uq_capture_number")),
    )
    op.create_index(op.f("ix_capture_diagnosis_id"), "capture", ["diagnosis_id"], unique=False)
    op.create_index(op.f("ix_capture_incident_id"), "capture", ["incident_id"], unique=False)
    op.create_index(op.f("ix_capture_state"), "capture", ["state"], unique=False)
    op.create_index(op.f("ix_capture_watcher_id"), "capture", ["watcher_id"], unique=False)
    op.create_table(
        "fix",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("incident_id", sa.Uuid(), nullable=False),
        sa.Column("hypothesis_id", sa.Uuid(), nullable=True),
        sa.Column("remediation", sa.Text(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("hosts", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("command", sa.Text(), nullable=False),
        sa.Column("risk", sa.Text(), nullable=False),
        sa.Column("rollback", sa.Text(), nullable=False),
        sa.Column("applied_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "state IN ('planned', 'applied', 'verified', 'no_effect', 'worse', 'no_conclusion', 'reverted')",
            name=op.f("ck_fix_state"),
        ),
        sa.ForeignKeyConstraint(["created_by"], ["user_account.id"], name=op.f("fk_fix_created_by")),
        sa.ForeignKeyConstraint(["hypothesis_id"], ["hypothesis.id"], name=op.f("fk_fix_hypothesis_id")),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name=op.f("fk_fix_incident_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_fix")),
    )
    op.create_index(op.f("ix_fix_incident_id"), "fix", ["incident_id"], unique=False)
    op.create_table(
        "report_version",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("report_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("ciphertext", sa.LargeBinary(), nullable=False),
        sa.Column("nonce", sa.LargeBinary(), nullable=False),
        sa.Column("wrapped_key", sa.LargeBinary(), nullable=False),
        sa.Column("key_version", sa.Integer(), nullable=False),
        sa.Column("counts", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("hosts", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("approved_by", sa.Uuid(), nullable=True),
        sa.Column("approved_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["approved_by"], ["user_account.id"], name=op.f("fk_report_version_approved_by")
        ),
        sa.ForeignKeyConstraint(
            ["created_by"], ["user_account.id"], name=op.f("fk_report_version_created_by")
        ),
        sa.ForeignKeyConstraint(
            ["report_id"], ["report.id"], name=op.f("fk_report_version_report_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_report_version")),
        sa.UniqueConstraint("report_id", "number", name=op.f("uq_report_version_report_id_number")),
    )
    op.create_table(
        "series_day",
        sa.Column("series_id", sa.Uuid(), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("axis_values", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("low", sa.LargeBinary(), nullable=False),
        sa.Column("mean", sa.LargeBinary(), nullable=False),
        sa.Column("high", sa.LargeBinary(), nullable=False),
        sa.Column("count", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["series_id"], ["series.id"], name=op.f("fk_series_day_series_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("series_id", "day", name=op.f("pk_series_day")),
    )
    op.create_table(
        "verdict_pin",
        sa.Column("verdict_id", sa.Uuid(), nullable=False),
        sa.Column("pin_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["pin_id"], ["pin.id"], name=op.f("fk_verdict_pin_pin_id")),
        sa.ForeignKeyConstraint(
            ["verdict_id"], ["step_verdict.id"], name=op.f("fk_verdict_pin_verdict_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("verdict_id", "pin_id", name=op.f("pk_verdict_pin")),
    )
    op.create_index(op.f("ix_verdict_pin_pin_id"), "verdict_pin", ["pin_id"], unique=False)
    op.create_table(
        "report_share",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("version_id", sa.Uuid(), nullable=False),
        sa.Column("token_hash", sa.LargeBinary(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["created_by"], ["user_account.id"], name=op.f("fk_report_share_created_by")),
        sa.ForeignKeyConstraint(
            ["version_id"], ["report_version.id"], name=op.f("fk_report_share_version_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_report_share")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_report_share_token_hash")),
    )
    op.create_index(op.f("ix_report_share_version_id"), "report_share", ["version_id"], unique=False)
    op.create_table(
        "run",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("capture_id", sa.Uuid(), nullable=False),
        sa.Column("host_id", sa.Uuid(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("heartbeat_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column("not_before", sa.DateTime(timezone=True), nullable=True),
        sa.Column("queued_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("cancel_requested_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("failure", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("failure_side", sa.Text(), nullable=True),
        sa.Column("boot_id", sa.Text(), nullable=True),
        sa.Column("clock", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("timings", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("host_cpu_ms", sa.Double(), nullable=True),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("progress", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("spec", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("t0_ns", sa.BigInteger(), nullable=True),
        sa.Column("t1_ns", sa.BigInteger(), nullable=True),
        sa.Column("look_back_ns", sa.BigInteger(), nullable=True),
        sa.Column("ingest_attempts", sa.Integer(), nullable=False),
        sa.Column("facts", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("waiting", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("worker_losses", sa.Integer(), nullable=False),
        sa.Column("host_failures", sa.Integer(), nullable=False),
        sa.CheckConstraint("failure_side IN ('worker', 'host', 'user')", name=op.f("ck_run_failure_side")),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'ingesting', 'done', 'partial', 'failed', 'canceled', 'expired')",
            name=op.f("ck_run_state"),
        ),
        sa.ForeignKeyConstraint(
            ["capture_id"], ["capture.id"], name=op.f("fk_run_capture_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=op.f("fk_run_host_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
    )
    op.create_index(op.f("ix_run_capture_id"), "run", ["capture_id"], unique=False)
    op.create_index(op.f("ix_run_host_id_started_at"), "run", ["host_id", "started_at"], unique=False)
    op.create_index(op.f("ix_run_host_id_t0_ns"), "run", ["host_id", "t0_ns"], unique=False)
    op.create_index(
        "ix_run_open",
        "run",
        ["state", "not_before"],
        unique=False,
        postgresql_where=sa.text("ended_at IS NULL"),
    )
    op.create_index(
        "uq_run_active_host", "run", ["host_id"], unique=True, postgresql_where=sa.text("state = 'running'")
    )
    op.create_table(
        "schedule_firing",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("schedule_id", sa.Uuid(), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("capture_id", sa.Uuid(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "state IN ('started', 'missed', 'skipped', 'refused')", name=op.f("ck_schedule_firing_state")
        ),
        sa.CheckConstraint("count >= 1 AND last_due_at >= due_at", name=op.f("ck_schedule_firing_span")),
        sa.ForeignKeyConstraint(
            ["capture_id"], ["capture.id"], name=op.f("fk_schedule_firing_capture_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["schedule_id"], ["schedule.id"], name=op.f("fk_schedule_firing_schedule_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_schedule_firing")),
        sa.UniqueConstraint("schedule_id", "due_at", name=op.f("uq_schedule_firing_schedule_id_due_at")),
    )
    op.create_index(op.f("ix_schedule_firing_capture_id"), "schedule_firing", ["capture_id"], unique=False)
    op.create_table(
        "upload_address",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("host_id", sa.Uuid(), nullable=True),
        sa.Column("host_name", sa.Text(), nullable=False),
        sa.Column("plan", sa.Text(), nullable=False),
        sa.Column("seconds", sa.Integer(), nullable=True),
        sa.Column("token_hash", sa.LargeBinary(), nullable=False),
        sa.Column("max_bytes", sa.BigInteger(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("claimed_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("used_from", sa.Text(), nullable=True),
        sa.Column("size", sa.BigInteger(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("failure", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("capture_id", sa.Uuid(), nullable=True),
        sa.ForeignKeyConstraint(
            ["capture_id"], ["capture.id"], name=op.f("fk_upload_address_capture_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["created_by"], ["user_account.id"], name=op.f("fk_upload_address_created_by")
        ),
        sa.ForeignKeyConstraint(
            ["host_id"], ["host.id"], name=op.f("fk_upload_address_host_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_upload_address")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_upload_address_token_hash")),
    )
    op.create_index(op.f("ix_upload_address_capture_id"), "upload_address", ["capture_id"], unique=False)
    op.create_table(
        "verification",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("fix_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("primary", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("minimum_change", sa.Double(), nullable=True),
        sa.Column("before", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("captures_before", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("after", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("control_host_id", sa.Uuid(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("result", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("failure", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("requested_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("kind IN ('plain', 'control', 'cohort')", name=op.f("ck_verification_kind")),
        sa.CheckConstraint(
            "state IN ('before', 'waiting', 'collecting', 'judging', 'done', 'failed', 'canceled')",
            name=op.f("ck_verification_state"),
        ),
        sa.ForeignKeyConstraint(
            ["control_host_id"], ["host.id"], name=op.f("fk_verification_control_host_id")
        ),
        sa.ForeignKeyConstraint(
            ["fix_id"], ["fix.id"], name=op.f("fk_verification_fix_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["requested_by"], ["user_account.id"], name=op.f("fk_verification_requested_by")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_verification")),
    )
    op.create_index(
        "ix_verification_after_ids",
        "verification",
        [sa.literal_column("mentioned_ids(after)")],
        unique=False,
        postgresql_using="gin",
    )
    op.create_index(
        "ix_verification_before_ids",
        "verification",
        [sa.literal_column("mentioned_ids(before)")],
        unique=False,
        postgresql_using="gin",
    )
    op.create_index(op.f("ix_verification_fix_id"), "verification", ["fix_id"], unique=False)
    op.create_index(
        "ix_verification_captures_before_ids",
        "verification",
        [sa.literal_column("mentioned_ids(captures_before)")],
        unique=False,
        postgresql_using="gin",
    )
    op.create_index(
        "ix_verification_open",
        "verification",
        ["state"],
        unique=False,
        postgresql_where=sa.text("state IN ('before', 'collecting', 'judging')"),
    )
    op.create_table(
        "diagnosis",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("host_id", sa.Uuid(), nullable=False),
        sa.Column("scope", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("seconds", sa.Integer(), nullable=False),
        sa.Column("baseline", sa.Text(), nullable=False),
        sa.Column("baseline_run_id", sa.Uuid(), nullable=True),
        sa.Column("peers", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), server_default="manual", nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("stages", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("result", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("failure", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("requested_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("source IN ('manual', 'trigger')", name=op.f("ck_diagnosis_source")),
        sa.CheckConstraint(
            "state IN ('running', 'done', 'failed', 'canceled')", name=op.f("ck_diagnosis_state")
        ),
        sa.ForeignKeyConstraint(
            ["baseline_run_id"], ["run.id"], name=op.f("fk_diagnosis_baseline_run_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=op.f("fk_diagnosis_host_id")),
        sa.ForeignKeyConstraint(
            ["requested_by"], ["user_account.id"], name=op.f("fk_diagnosis_requested_by")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_diagnosis")),
        sa.UniqueConstraint("number", name=op.f("uq_diagnosis_number")),
    )
    op.create_index(
        "ix_diagnosis_baseline",
        "diagnosis",
        ["baseline_run_id"],
        unique=False,
        postgresql_where=sa.text("baseline_run_id IS NOT NULL"),
    )
    op.create_index(
        op.f("ix_diagnosis_host_id_created_at"), "diagnosis", ["host_id", "created_at"], unique=False
    )
    op.create_index(
        "ix_diagnosis_running",
        "diagnosis",
        ["state"],
        unique=False,
        postgresql_where=sa.text("state = 'running'"),
    )
    op.create_table(
        "evaluation",
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("elapsed_ms", sa.Double(), nullable=False),
        sa.Column("not_matched", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column(
            "not_evaluated", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False
        ),
        sa.Column("ranking", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_evaluation_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_evaluation")),
    )
    op.create_table(
        "finding",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("host_id", sa.Uuid(), nullable=True),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("severity", sa.Text(), nullable=False),
        sa.Column("strength", sa.Text(), nullable=False),
        sa.Column("subject", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("numbers", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("reason", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("detail", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("severity IN ('info', 'warn', 'critical')", name=op.f("ck_finding_severity")),
        sa.CheckConstraint("state IN ('matched', 'inconclusive')", name=op.f("ck_finding_state")),
        sa.CheckConstraint(
            "strength IN ('direct', 'mechanism', 'correlational', 'context')",
            name=op.f("ck_finding_strength"),
        ),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=op.f("fk_finding_host_id")),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_finding_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_finding")),
    )
    op.create_index(op.f("ix_finding_host_id_created_at"), "finding", ["host_id", "created_at"], unique=False)
    op.create_index(op.f("ix_finding_rule_created_at"), "finding", ["rule", "created_at"], unique=False)
    op.create_index(op.f("ix_finding_run_id"), "finding", ["run_id"], unique=False)
    op.create_table(
        "incident_run",
        sa.Column("incident_id", sa.Uuid(), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("fix_id", sa.Uuid(), nullable=True),
        sa.Column("step", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "role IN ('evidence', 'before', 'after', 'control')", name=op.f("ck_incident_run_role")
        ),
        sa.ForeignKeyConstraint(
            ["fix_id"], ["fix.id"], name=op.f("fk_incident_run_fix_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name=op.f("fk_incident_run_incident_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_incident_run_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("incident_id", "run_id", name=op.f("pk_incident_run")),
    )
    op.create_index(op.f("ix_incident_run_run_id"), "incident_run", ["run_id"], unique=False)
    op.create_table(
        "removal",
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("items", sa.Integer(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "kind IN ('recordings', 'texts', 'imports', 'profiles', 'comparisons', 'series', 'tables', 'events')",
            name=op.f("ck_removal_kind"),
        ),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_removal_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "kind", name=op.f("pk_removal")),
    )
    op.create_index(op.f("ix_removal_at"), "removal", ["at"], unique=False)
    op.create_table(
        "report_visit",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("share_id", sa.Uuid(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("form", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["share_id"], ["report_share.id"], name=op.f("fk_report_visit_share_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_report_visit")),
    )
    op.create_index(op.f("ix_report_visit_share_id_at"), "report_visit", ["share_id", "at"], unique=False)
    op.create_table(
        "run_collector",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("collector", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("method", sa.Text(), nullable=True),
        sa.Column("argv", sa.Text(), nullable=True),
        sa.Column("exit_code", sa.Integer(), nullable=True),
        sa.Column("signal", sa.Integer(), nullable=True),
        sa.Column("tool_version", sa.Text(), nullable=True),
        sa.Column("started_ns", sa.BigInteger(), nullable=True),
        sa.Column("ended_ns", sa.BigInteger(), nullable=True),
        sa.Column("cpu_ms", sa.Double(), nullable=True),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("stderr_tail", sa.Text(), nullable=True),
        sa.Column("parser_version", sa.Integer(), nullable=True),
        sa.Column("warnings", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'done', 'skipped', 'failed', 'timed_out', 'unreadable', 'canceled')",
            name=op.f("ck_run_collector_state"),
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_run_collector_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run_collector")),
        sa.UniqueConstraint("run_id", "collector", name=op.f("uq_run_collector_run_id_collector")),
    )
    op.create_table(
        "artifact",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("run_collector_id", sa.Uuid(), nullable=True),
        sa.Column("part", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("stored_size", sa.BigInteger(), nullable=False),
        sa.Column("encoding", sa.Text(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("complete", sa.Boolean(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("removed_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("encoding IN ('identity', 'gzip', 'zstd')", name=op.f("ck_artifact_encoding")),
        sa.ForeignKeyConstraint(
            ["run_collector_id"],
            ["run_collector.id"],
            name=op.f("fk_artifact_run_collector_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_artifact_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_artifact")),
    )
    op.create_index(
        "ix_artifact_kept", "artifact", ["id"], unique=False, postgresql_where=sa.text("removed_at IS NULL")
    )
    op.create_index(op.f("ix_artifact_run_collector_id"), "artifact", ["run_collector_id"], unique=False)
    op.create_index(op.f("ix_artifact_run_id"), "artifact", ["run_id"], unique=False)
    op.create_index(op.f("ix_artifact_sha256"), "artifact", ["sha256"], unique=False)
    op.create_table(
        "profile",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("host_id", sa.Uuid(), nullable=True),
        sa.Column("run_collector_id", sa.Uuid(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("failure", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("source", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("samples", sa.BigInteger(), nullable=True),
        sa.Column("weight", sa.Double(), nullable=True),
        sa.Column("lost", sa.BigInteger(), nullable=True),
        sa.Column("unknown_share", sa.Double(), nullable=True),
        sa.Column("truncated_share", sa.Double(), nullable=True),
        sa.Column("t0_ns", sa.BigInteger(), nullable=True),
        sa.Column("t1_ns", sa.BigInteger(), nullable=True),
        sa.Column("store_key", sa.Text(), nullable=True),
        sa.Column("tree_key", sa.Text(), nullable=True),
        sa.Column("method", sa.Text(), nullable=True),
        sa.Column("parser_version", sa.Integer(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("stored_size", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("removed_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'ready', 'failed')", name=op.f("ck_profile_state")
        ),
        sa.CheckConstraint("unit IN ('samples', 'ns')", name=op.f("ck_profile_unit")),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=op.f("fk_profile_host_id")),
        sa.ForeignKeyConstraint(
            ["run_collector_id"],
            ["run_collector.id"],
            name=op.f("fk_profile_run_collector_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_profile_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_profile")),
    )
    op.create_index(op.f("ix_profile_host_id"), "profile", ["host_id"], unique=False)
    op.create_index(
        "ix_profile_kept", "profile", ["id"], unique=False, postgresql_where=sa.text("removed_at IS NULL")
    )
    op.create_index(op.f("ix_profile_run_id"), "profile", ["run_id"], unique=False)
    op.create_index(op.f("ix_profile_store_key"), "profile", ["store_key"], unique=False)
    op.create_index(op.f("ix_profile_tree_key"), "profile", ["tree_key"], unique=False)
    op.create_table(
        "trigger_response",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("trigger_id", sa.Uuid(), nullable=True),
        sa.Column("host_id", sa.Uuid(), nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("service", sa.Text(), nullable=False),
        sa.Column("peers", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("incident_id", sa.Uuid(), nullable=True),
        sa.Column("diagnosis_id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("notified_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["diagnosis_id"],
            ["diagnosis.id"],
            name=op.f("fk_trigger_response_diagnosis_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=op.f("fk_trigger_response_host_id")),
        sa.ForeignKeyConstraint(
            ["incident_id"],
            ["incident.id"],
            name=op.f("fk_trigger_response_incident_id"),
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(
            ["trigger_id"], ["trigger.id"], name=op.f("fk_trigger_response_trigger_id"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_trigger_response")),
        sa.UniqueConstraint("diagnosis_id", name=op.f("uq_trigger_response_diagnosis_id")),
    )
    op.create_index(
        op.f("ix_trigger_response_host_id_cause_created_at"),
        "trigger_response",
        ["host_id", "cause", "created_at"],
        unique=False,
    )
    op.create_index(
        op.f("ix_trigger_response_incident_id"), "trigger_response", ["incident_id"], unique=False
    )
    op.create_index(
        "ix_trigger_response_pending",
        "trigger_response",
        ["created_at"],
        unique=False,
        postgresql_where=sa.text("notified_at IS NULL"),
    )
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
        sa.Column("labels", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("began_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("host_id", sa.Uuid(), nullable=True),
        sa.Column("service", sa.Text(), nullable=False),
        sa.Column("trigger_response_id", sa.Uuid(), nullable=True),
        sa.Column("incident_id", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("resolved_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state IN ('started', 'joined', 'deferred', 'refused', 'unmatched')", name=op.f("ck_alert_state")
        ),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=op.f("fk_alert_host_id")),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name=op.f("fk_alert_incident_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["trigger_id"], ["trigger.id"], name=op.f("fk_alert_trigger_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["trigger_response_id"],
            ["trigger_response.id"],
            name=op.f("fk_alert_trigger_response_id"),
            ondelete="SET NULL",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert")),
        sa.UniqueConstraint("number", name=op.f("uq_alert_number")),
    )
    op.create_index(op.f("ix_alert_host_id_last_at"), "alert", ["host_id", "last_at"], unique=False)
    op.create_index(op.f("ix_alert_incident_id"), "alert", ["incident_id"], unique=False)
    op.create_index(op.f("ix_alert_state_last_at"), "alert", ["state", "last_at"], unique=False)
    op.create_index(
        op.f("ix_alert_trigger_id_fingerprint_last_at"),
        "alert",
        ["trigger_id", "fingerprint", "last_at"],
        unique=False,
    )
    op.create_index(op.f("ix_alert_trigger_response_id"), "alert", ["trigger_response_id"], unique=False)
    op.create_table(
        "event",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("host_id", sa.Uuid(), nullable=True),
        sa.Column("run_id", sa.Uuid(), nullable=True),
        sa.Column("t_ns", sa.BigInteger(), nullable=False),
        sa.Column("end_ns", sa.BigInteger(), nullable=True),
        sa.Column("uncertainty_ns", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("severity", sa.Text(), nullable=False),
        sa.Column("title", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("artifact_id", sa.Uuid(), nullable=True),
        sa.Column("line", sa.Integer(), nullable=True),
        sa.Column("same_key", sa.LargeBinary(), nullable=True),
        sa.Column("repeats_id", sa.Uuid(), nullable=True),
        sa.CheckConstraint("severity IN ('info', 'warn', 'critical')", name=op.f("ck_event_severity")),
        sa.ForeignKeyConstraint(
            ["artifact_id"], ["artifact.id"], name=op.f("fk_event_artifact_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=op.f("fk_event_host_id")),
        sa.ForeignKeyConstraint(
            ["repeats_id"], ["event.id"], name=op.f("fk_event_repeats_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_event_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event")),
    )
    op.create_index(
        op.f("ix_event_repeats_id"),
        "event",
        ["repeats_id"],
        unique=False,
        postgresql_where=sa.text("repeats_id IS NOT NULL"),
    )
    op.create_index(op.f("ix_event_run_id"), "event", ["run_id"], unique=False)
    op.create_index(
        "ix_event_same",
        "event",
        ["same_key", "t_ns"],
        unique=False,
        postgresql_where=sa.text("same_key IS NOT NULL AND repeats_id IS NULL"),
    )
    op.create_index(
        "ix_event_shown",
        "event",
        ["host_id", "t_ns"],
        unique=False,
        postgresql_where=sa.text("repeats_id IS NULL"),
    )
    op.create_table(
        "host_fact",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("host_id", sa.Uuid(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=True),
        sa.Column("since_ns", sa.BigInteger(), nullable=False),
        sa.Column("seen_ns", sa.BigInteger(), nullable=False),
        sa.Column("first_run_id", sa.Uuid(), nullable=True),
        sa.Column("first_artifact_id", sa.Uuid(), nullable=True),
        sa.Column("first_line", sa.Integer(), nullable=True),
        sa.Column("last_run_id", sa.Uuid(), nullable=True),
        sa.Column("last_artifact_id", sa.Uuid(), nullable=True),
        sa.Column("last_line", sa.Integer(), nullable=True),
        sa.CheckConstraint("since_ns <= seen_ns", name=op.f("ck_host_fact_span")),
        sa.ForeignKeyConstraint(
            ["first_artifact_id"],
            ["artifact.id"],
            name=op.f("fk_host_fact_first_artifact_id"),
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(
            ["first_run_id"], ["run.id"], name=op.f("fk_host_fact_first_run_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["host_id"], ["host.id"], name=op.f("fk_host_fact_host_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["last_artifact_id"],
            ["artifact.id"],
            name=op.f("fk_host_fact_last_artifact_id"),
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(
            ["last_run_id"], ["run.id"], name=op.f("fk_host_fact_last_run_id"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_host_fact")),
        sa.UniqueConstraint(
            "host_id", "source", "name", "since_ns", name=op.f("uq_host_fact_host_id_source_name_since_ns")
        ),
    )
    op.create_index(op.f("ix_host_fact_first_artifact_id"), "host_fact", ["first_artifact_id"], unique=False)
    op.create_index(op.f("ix_host_fact_first_run_id"), "host_fact", ["first_run_id"], unique=False)
    op.create_index(op.f("ix_host_fact_host_id_since_ns"), "host_fact", ["host_id", "since_ns"], unique=False)
    op.create_index(op.f("ix_host_fact_last_artifact_id"), "host_fact", ["last_artifact_id"], unique=False)
    op.create_index(op.f("ix_host_fact_last_run_id"), "host_fact", ["last_run_id"], unique=False)
    op.create_table(
        "notification",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("channel_id", sa.Uuid(), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("trigger_response_id", sa.Uuid(), nullable=True),
        sa.Column("host_id", sa.Uuid(), nullable=True),
        sa.Column("message", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("not_before", sa.DateTime(timezone=True), nullable=False),
        sa.Column("failure", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("about IN ('diagnosis', 'mention', 'test')", name=op.f("ck_notification_about")),
        sa.CheckConstraint("state IN ('queued', 'sent', 'failed')", name=op.f("ck_notification_state")),
        sa.ForeignKeyConstraint(
            ["channel_id"], ["channel.id"], name=op.f("fk_notification_channel_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=op.f("fk_notification_host_id")),
        sa.ForeignKeyConstraint(
            ["trigger_response_id"],
            ["trigger_response.id"],
            name=op.f("fk_notification_trigger_response_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notification")),
        sa.UniqueConstraint(
            "channel_id", "trigger_response_id", name=op.f("uq_notification_channel_id_trigger_response_id")
        ),
        sa.UniqueConstraint("number", name=op.f("uq_notification_number")),
    )
    op.create_index(op.f("ix_notification_channel_id"), "notification", ["channel_id"], unique=False)
    op.create_index(
        "ix_notification_queued",
        "notification",
        ["not_before"],
        unique=False,
        postgresql_where=sa.text("state = 'queued'"),
    )
    op.create_index(
        op.f("ix_notification_trigger_response_id"), "notification", ["trigger_response_id"], unique=False
    )
    op.create_table(
        "result_table",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("run_collector_id", sa.Uuid(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("columns", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("rows", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("lines", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("artifact_id", sa.Uuid(), nullable=True),
        sa.ForeignKeyConstraint(
            ["artifact_id"], ["artifact.id"], name=op.f("fk_result_table_artifact_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["run_collector_id"],
            ["run_collector.id"],
            name=op.f("fk_result_table_run_collector_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_result_table_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_result_table")),
    )
    op.create_index(op.f("ix_result_table_run_id"), "result_table", ["run_id"], unique=False)
    op.create_table(
        "series_chunk",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("series_id", sa.Uuid(), nullable=True),
        sa.Column("host_id", sa.Uuid(), nullable=True),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("run_collector_id", sa.Uuid(), nullable=True),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("labels", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("axis", sa.Text(), nullable=True),
        sa.Column("axis_values", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("level", sa.SmallInteger(), nullable=False),
        sa.Column("t0_ns", sa.BigInteger(), nullable=False),
        sa.Column("t1_ns", sa.BigInteger(), nullable=False),
        sa.Column("step_ns", sa.BigInteger(), nullable=False),
        sa.Column("raw_step_ns", sa.BigInteger(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("summary", sa.LargeBinary(), nullable=True),
        sa.Column("artifact_id", sa.Uuid(), nullable=True),
        sa.Column("lines", sa.LargeBinary(), nullable=True),
        sa.Column("parser_version", sa.Integer(), nullable=False),
        sa.CheckConstraint(
            "t1_ns - t0_ns BETWEEN 0 AND 3600000000000", name=op.f("ck_series_chunk_within_an_hour")
        ),
        sa.ForeignKeyConstraint(
            ["artifact_id"], ["artifact.id"], name=op.f("fk_series_chunk_artifact_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=op.f("fk_series_chunk_host_id")),
        sa.ForeignKeyConstraint(
            ["run_collector_id"],
            ["run_collector.id"],
            name=op.f("fk_series_chunk_run_collector_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_series_chunk_run_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["series_id"], ["series.id"], name=op.f("fk_series_chunk_series_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_series_chunk")),
    )
    op.create_index(
        op.f("ix_series_chunk_run_id_metric_level"),
        "series_chunk",
        ["run_id", "metric", "level"],
        unique=False,
    )
    op.create_index(
        op.f("ix_series_chunk_series_id_t0_ns_level"),
        "series_chunk",
        ["series_id", "t0_ns", "level"],
        unique=False,
    )
    op.create_foreign_key(
        "fk_capture_diagnosis_id", "capture", "diagnosis", ["diagnosis_id"], ["id"], ondelete="SET NULL"
    )
    op.create_foreign_key(
        "fk_capture_incident_id", "capture", "incident", ["incident_id"], ["id"], ondelete="SET NULL"
    )
    for trigger in TRIGGERS:
        op.execute(trigger)


def downgrade() -> None:
    op.drop_constraint("fk_capture_diagnosis_id", "capture", type_="foreignkey")
    op.drop_constraint("fk_capture_incident_id", "capture", type_="foreignkey")
    for table in TABLES:
        op.drop_table(table)
    for function in FUNCTIONS:
        op.execute(f"DROP FUNCTION {function}")
