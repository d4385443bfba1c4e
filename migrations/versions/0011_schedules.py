"""Schedules with what became of each due instant, maintenance windows, and who is on call."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

TABLES = (
    "schedule",
    "schedule_host",
    "schedule_firing",
    "maintenance_window",
    "rotation",
    "oncall_override",
    "oncall_turn",
)


def upgrade() -> None:
    _sources("'manual', 'import', 'api', 'schedule'")
    op.create_table(
        "schedule",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("cron", sa.Text(), nullable=True),
        sa.Column("wall", sa.DateTime(timezone=False), nullable=True),
        sa.Column("zone", sa.Text(), nullable=False),
        sa.Column("wanted", JSONB(none_as_null=True), nullable=False),
        sa.Column("selector", JSONB(none_as_null=True), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("catch_up", sa.Text(), nullable=False),
        sa.Column("grace_s", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("next_due", sa.DateTime(timezone=True), nullable=True),
        sa.Column("owner_id", sa.Uuid(), nullable=False),
        sa.Column("deep_allowed_by", sa.Uuid(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind IN ('once', 'cron')", name=op.f("ck_schedule_kind")),
        sa.CheckConstraint("state IN ('active', 'paused', 'done')", name=op.f("ck_schedule_state")),
        sa.CheckConstraint("catch_up IN ('one', 'none')", name=op.f("ck_schedule_catch_up")),
        sa.CheckConstraint(
            "(kind = 'cron') = (cron IS NOT NULL) AND (kind = 'once') = (wall IS NOT NULL)", name=op.f("ck_schedule_when")
        ),
        sa.CheckConstraint("(state = 'active') = (next_due IS NOT NULL)", name=op.f("ck_schedule_due")),
        sa.ForeignKeyConstraint(["owner_id"], ["user_account.id"], name="fk_schedule_owner_id"),
        sa.ForeignKeyConstraint(["deep_allowed_by"], ["user_account.id"], name="fk_schedule_deep_allowed_by"),
        sa.ForeignKeyConstraint(["created_by"], ["user_account.id"], name="fk_schedule_created_by"),
        sa.PrimaryKeyConstraint("id", name="pk_schedule"),
        sa.UniqueConstraint("name", name="uq_schedule_name"),
    )
    op.create_index("ix_schedule_owner_id", "schedule", ["owner_id"])
    op.create_index("ix_schedule_due", "schedule", ["next_due"], postgresql_where=sa.text("state = 'active'"))
    op.create_table(
        "schedule_host",
        sa.Column("schedule_id", sa.Uuid(), nullable=False),
        sa.Column("host_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["schedule_id"], ["schedule.id"], name="fk_schedule_host_schedule_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_schedule_host_host_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("schedule_id", "host_id", name="pk_schedule_host"),
    )
    op.create_index("ix_schedule_host_host_id", "schedule_host", ["host_id"])
    op.create_table(
        "schedule_firing",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("schedule_id", sa.Uuid(), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", JSONB(none_as_null=True), nullable=True),
        sa.Column("capture_id", sa.Uuid(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "state IN ('fired', 'missed', 'skipped', 'refused')", name=op.f("ck_schedule_firing_state")
        ),
        sa.CheckConstraint("count >= 1 AND last_due_at >= due_at", name=op.f("ck_schedule_firing_span")),
        sa.ForeignKeyConstraint(
            ["schedule_id"], ["schedule.id"], name="fk_schedule_firing_schedule_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["capture_id"], ["capture.id"], name="fk_schedule_firing_capture_id", ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_schedule_firing"),
        sa.UniqueConstraint("schedule_id", "due_at", name="uq_schedule_firing_schedule_id_due_at"),
    )
    op.create_index("ix_schedule_firing_capture_id", "schedule_firing", ["capture_id"])
    op.create_table(
        "maintenance_window",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("starts_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("host_id", sa.Uuid(), nullable=True),
        sa.Column("selector", JSONB(none_as_null=True), nullable=True),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("starts_at < ends_at", name=op.f("ck_maintenance_window_span")),
        sa.CheckConstraint("host_id IS NULL OR selector IS NULL", name=op.f("ck_maintenance_window_where")),
        sa.ForeignKeyConstraint(
            ["host_id"], ["host.id"], name="fk_maintenance_window_host_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["created_by"], ["user_account.id"], name="fk_maintenance_window_created_by"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_maintenance_window"),
    )
    op.create_index("ix_maintenance_window_ends_at", "maintenance_window", ["ends_at"])
    _oncall()


def _sources(listed: str) -> None:
    op.drop_constraint(op.f("ck_capture_source"), "capture", type_="check")
    op.create_check_constraint(op.f("ck_capture_source"), "capture", f"source IN ({listed})")


def _oncall() -> None:
    op.create_table(
        "rotation",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("zone", sa.Text(), nullable=False),
        sa.Column("handover", sa.Text(), nullable=False),
        sa.Column("first_day", sa.Date(), nullable=True),
        sa.Column("days", sa.Integer(), nullable=False),
        sa.Column("people", JSONB(none_as_null=True), nullable=False),
        sa.Column("source", JSONB(none_as_null=True), nullable=False),
        sa.Column("accounts", JSONB(none_as_null=True), nullable=False),
        sa.Column("calendar", sa.Text(), nullable=True),
        sa.Column("ciphertext", sa.LargeBinary(), nullable=True),
        sa.Column("nonce", sa.LargeBinary(), nullable=True),
        sa.Column("wrapped_key", sa.LargeBinary(), nullable=True),
        sa.Column("key_version", sa.Integer(), nullable=True),
        sa.Column("fetch_after", sa.DateTime(timezone=True), nullable=True),
        sa.Column("fetched_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("failure", JSONB(none_as_null=True), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind IN ('simple', 'calendar', 'pagerduty')", name=op.f("ck_rotation_kind")),
        sa.CheckConstraint("days BETWEEN 1 AND 366", name=op.f("ck_rotation_days")),
        sa.CheckConstraint("(ciphertext IS NULL) = (key_version IS NULL)", name=op.f("ck_rotation_secret")),
        sa.ForeignKeyConstraint(["created_by"], ["user_account.id"], name="fk_rotation_created_by"),
        sa.PrimaryKeyConstraint("id", name="pk_rotation"),
        sa.UniqueConstraint("name", name="uq_rotation_name"),
    )
    op.create_index("ix_rotation_fetch_after", "rotation", ["fetch_after"])
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
            ["rotation_id"], ["rotation.id"], name="fk_oncall_override_rotation_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_oncall_override_user_id"),
        sa.ForeignKeyConstraint(["created_by"], ["user_account.id"], name="fk_oncall_override_created_by"),
        sa.PrimaryKeyConstraint("id", name="pk_oncall_override"),
    )
    op.create_index("ix_oncall_override_rotation_id", "oncall_override", ["rotation_id"])
    op.create_table(
        "oncall_turn",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("rotation_id", sa.Uuid(), nullable=False),
        sa.Column("starts_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["rotation_id"], ["rotation.id"], name="fk_oncall_turn_rotation_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_oncall_turn"),
    )
    op.create_index("ix_oncall_turn_rotation_id_ends_at", "oncall_turn", ["rotation_id", "ends_at"])


def downgrade() -> None:
    for table in reversed(TABLES):
        op.drop_table(table)
    op.execute("UPDATE capture SET source = 'manual' WHERE source = 'schedule'")
    _sources("'manual', 'import', 'api'")
