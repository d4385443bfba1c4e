"""The first tables: accounts, hosts, captures, what came home and what was read out of it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# The audit log only grows. Whoever can drop the trigger can also edit rows, which the hash chain then shows.
APPEND_ONLY = """
CREATE FUNCTION audit_entry_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit_entry is append-only' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER audit_entry_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_entry
    FOR EACH STATEMENT EXECUTE FUNCTION audit_entry_append_only();
"""


def upgrade() -> None:
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
        sa.Column("detail", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column("prev_hash", sa.LargeBinary(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_entry")),
        sa.UniqueConstraint("seq", name=op.f("uq_audit_entry_seq")),
    )
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
        sa.Column("public", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
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
        "user_account",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=True),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("label_scope", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("locale", sa.Text(), nullable=False),
        sa.Column("disabled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("locale IN ('en', 'zh')", name=op.f("ck_user_account_locale")),
        sa.CheckConstraint(
            "role IN ('viewer', 'investigator', 'oncall', 'admin')", name=op.f("ck_user_account_role")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_user_account")),
        sa.UniqueConstraint("name", name=op.f("uq_user_account_name")),
    )
    op.create_table(
        "worker_state",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("detail", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_worker_state")),
    )
    op.create_table(
        "api_token",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("token_hash", sa.LargeBinary(), nullable=False),
        sa.Column("prefix", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
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
        "capture",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("plan", sa.Text(), nullable=False),
        sa.Column("collectors", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=True),
        sa.Column("scope", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("requested_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("cancel_requested_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("source IN ('manual', 'import', 'api')", name=op.f("ck_capture_source")),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'done', 'partial', 'failed', 'cancelled', 'expired')",
            name=op.f("ck_capture_state"),
        ),
        sa.ForeignKeyConstraint(["requested_by"], ["user_account.id"], name=op.f("fk_capture_requested_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_capture")),
        sa.UniqueConstraint("number", name=op.f("uq_capture_number")),
    )
    op.create_index(op.f("ix_capture_state"), "capture", ["state"], unique=False)
    op.create_table(
        "host",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("port", sa.Integer(), nullable=False),
        sa.Column("username", sa.Text(), nullable=False),
        sa.Column("credential_id", sa.Uuid(), nullable=False),
        sa.Column("sudo", sa.Text(), nullable=False),
        sa.Column("sudo_credential_id", sa.Uuid(), nullable=True),
        sa.Column("jump_host_id", sa.Uuid(), nullable=True),
        sa.Column("labels", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("host_key_type", sa.Text(), nullable=True),
        sa.Column("host_key", sa.LargeBinary(), nullable=True),
        sa.Column("host_key_fingerprint", sa.Text(), nullable=True),
        sa.Column("pinned_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("pinned_by", sa.Uuid(), nullable=True),
        sa.Column("max_silence_s", sa.Integer(), nullable=False),
        sa.Column("facts", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("facts_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("machine_id", sa.Text(), nullable=True),
        sa.Column("boot_id", sa.Text(), nullable=True),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("state IN ('active', 'retired')", name=op.f("ck_host_state")),
        sa.CheckConstraint("sudo IN ('none', 'nopasswd', 'password')", name=op.f("ck_host_sudo")),
        sa.CheckConstraint("jump_host_id <> id", name=op.f("ck_host_jump_host")),
        sa.CheckConstraint("port BETWEEN 1 AND 65535", name=op.f("ck_host_port")),
        sa.ForeignKeyConstraint(["created_by"], ["user_account.id"], name=op.f("fk_host_created_by")),
        sa.ForeignKeyConstraint(["credential_id"], ["credential.id"], name=op.f("fk_host_credential_id")),
        sa.ForeignKeyConstraint(["jump_host_id"], ["host.id"], name=op.f("fk_host_jump_host_id")),
        sa.ForeignKeyConstraint(["pinned_by"], ["user_account.id"], name=op.f("fk_host_pinned_by")),
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
        sa.Column("body", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_idempotency_key_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_idempotency_key")),
        sa.UniqueConstraint("user_id", "key", name=op.f("uq_idempotency_key_user_id_key")),
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
        "profile_diff",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("a", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("b", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("normalise", sa.Boolean(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("failure", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("result_key", sa.Text(), nullable=True),
        sa.Column("requested_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'ready', 'failed')", name=op.f("ck_profile_diff_state")
        ),
        sa.ForeignKeyConstraint(
            ["requested_by"], ["user_account.id"], name=op.f("fk_profile_diff_requested_by")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_profile_diff")),
    )
    op.create_table(
        "preflight",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("host_id", sa.Uuid(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("requested_by", sa.Uuid(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("facts", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("checks", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("collectors", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("clock", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("timings", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("failure", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
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
        sa.Column("failure", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("failure_side", sa.Text(), nullable=True),
        sa.Column("boot_id", sa.Text(), nullable=True),
        sa.Column("clock", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("timings", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("host_cpu_ms", sa.Double(), nullable=True),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("progress", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("spec", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.CheckConstraint("failure_side IN ('worker', 'host', 'user')", name=op.f("ck_run_failure_side")),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'ingesting', 'done', 'partial', 'failed', 'cancelled', 'expired')",
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
        "run_collector",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("collector", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("way", sa.Text(), nullable=True),
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
        sa.Column("warnings", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'done', 'skipped', 'failed', 'timed_out', 'unreadable', 'cancelled')",
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
        sa.Column("failure", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("source", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("samples", sa.BigInteger(), nullable=True),
        sa.Column("weight", sa.Double(), nullable=True),
        sa.Column("lost", sa.BigInteger(), nullable=True),
        sa.Column("unknown_share", sa.Double(), nullable=True),
        sa.Column("truncated_share", sa.Double(), nullable=True),
        sa.Column("t0_ns", sa.BigInteger(), nullable=True),
        sa.Column("t1_ns", sa.BigInteger(), nullable=True),
        sa.Column("store_key", sa.Text(), nullable=True),
        sa.Column("tree_key", sa.Text(), nullable=True),
        sa.Column("way", sa.Text(), nullable=True),
        sa.Column("parser_version", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
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
    op.create_index(op.f("ix_profile_run_id"), "profile", ["run_id"], unique=False)
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
        sa.Column("title", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("artifact_id", sa.Uuid(), nullable=True),
        sa.Column("line", sa.Integer(), nullable=True),
        sa.CheckConstraint("severity IN ('info', 'warn', 'critical')", name=op.f("ck_event_severity")),
        sa.ForeignKeyConstraint(
            ["artifact_id"], ["artifact.id"], name=op.f("fk_event_artifact_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=op.f("fk_event_host_id")),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_event_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event")),
    )
    op.create_index(op.f("ix_event_host_id_t_ns"), "event", ["host_id", "t_ns"], unique=False)
    op.create_index(op.f("ix_event_run_id"), "event", ["run_id"], unique=False)
    op.create_table(
        "result_table",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("run_collector_id", sa.Uuid(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("columns", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("rows", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
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
        sa.Column("host_id", sa.Uuid(), nullable=True),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("run_collector_id", sa.Uuid(), nullable=True),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("labels", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("axis", sa.Text(), nullable=True),
        sa.Column("axis_values", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("level", sa.SmallInteger(), nullable=False),
        sa.Column("t0_ns", sa.BigInteger(), nullable=False),
        sa.Column("t1_ns", sa.BigInteger(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("artifact_id", sa.Uuid(), nullable=True),
        sa.Column("lines", sa.LargeBinary(), nullable=True),
        sa.Column("parser_version", sa.Integer(), nullable=False),
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
        sa.PrimaryKeyConstraint("id", name=op.f("pk_series_chunk")),
    )
    op.create_index(
        op.f("ix_series_chunk_host_id_metric_level_t0_ns"),
        "series_chunk",
        ["host_id", "metric", "level", "t0_ns"],
        unique=False,
    )
    op.create_index(
        op.f("ix_series_chunk_run_id_metric_level"),
        "series_chunk",
        ["run_id", "metric", "level"],
        unique=False,
    )
    op.execute(APPEND_ONLY)


def downgrade() -> None:
    op.drop_index(op.f("ix_series_chunk_run_id_metric_level"), table_name="series_chunk")
    op.drop_index(op.f("ix_series_chunk_host_id_metric_level_t0_ns"), table_name="series_chunk")
    op.drop_table("series_chunk")
    op.drop_index(op.f("ix_result_table_run_id"), table_name="result_table")
    op.drop_table("result_table")
    op.drop_index(op.f("ix_event_run_id"), table_name="event")
    op.drop_index(op.f("ix_event_host_id_t_ns"), table_name="event")
    op.drop_table("event")
    op.drop_index(op.f("ix_profile_run_id"), table_name="profile")
    op.drop_index(op.f("ix_profile_host_id"), table_name="profile")
    op.drop_table("profile")
    op.drop_index(op.f("ix_artifact_sha256"), table_name="artifact")
    op.drop_index(op.f("ix_artifact_run_id"), table_name="artifact")
    op.drop_index(op.f("ix_artifact_run_collector_id"), table_name="artifact")
    op.drop_table("artifact")
    op.drop_table("run_collector")
    op.drop_index("uq_run_active_host", table_name="run", postgresql_where=sa.text("state = 'running'"))
    op.drop_index("ix_run_open", table_name="run", postgresql_where=sa.text("ended_at IS NULL"))
    op.drop_index(op.f("ix_run_host_id_started_at"), table_name="run")
    op.drop_index(op.f("ix_run_capture_id"), table_name="run")
    op.drop_table("run")
    op.drop_index(op.f("ix_preflight_host_id"), table_name="preflight")
    op.drop_table("preflight")
    op.drop_table("profile_diff")
    op.drop_table("network_rule")
    op.drop_index(op.f("ix_login_session_user_id"), table_name="login_session")
    op.drop_table("login_session")
    op.drop_index(op.f("ix_login_link_user_id"), table_name="login_link")
    op.drop_table("login_link")
    op.drop_table("idempotency_key")
    op.drop_index("uq_host_name_active", table_name="host", postgresql_where=sa.text("state = 'active'"))
    op.drop_index(op.f("ix_host_labels"), table_name="host", postgresql_using="gin")
    op.drop_table("host")
    op.drop_index(op.f("ix_capture_state"), table_name="capture")
    op.drop_table("capture")
    op.drop_index(op.f("ix_api_token_user_id"), table_name="api_token")
    op.drop_table("api_token")
    op.drop_table("worker_state")
    op.drop_table("user_account")
    op.drop_index(op.f("ix_login_attempt_address_at"), table_name="login_attempt")
    op.drop_index(op.f("ix_login_attempt_account_at"), table_name="login_attempt")
    op.drop_table("login_attempt")
    op.drop_table("credential")
    op.drop_table("audit_entry")
    op.execute("DROP FUNCTION audit_entry_append_only()")
