"""What waits on hosts: rings and armed captures, and the look-back that runs bring home of them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

SOURCES = "'manual', 'import', 'api', 'schedule', 'trigger'"


def upgrade() -> None:
    op.create_table(
        "standby",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("host_id", sa.Uuid(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("ring_s", sa.Integer(), nullable=False),
        sa.Column("ring_bytes", sa.BigInteger(), nullable=False),
        sa.Column("conditions", JSONB(none_as_null=True), nullable=False),
        sa.Column("wanted", JSONB(none_as_null=True), nullable=True),
        sa.Column("fires_max", sa.Integer(), nullable=False),
        sa.Column("fires", sa.Integer(), nullable=False),
        sa.Column("cooldown_s", sa.Integer(), nullable=False),
        sa.Column("fired_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("refused", JSONB(none_as_null=True), nullable=True),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
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
        sa.Column("interrupted", sa.Integer(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("waiting", JSONB(none_as_null=True), nullable=True),
        sa.Column("failure", JSONB(none_as_null=True), nullable=True),
        sa.Column("spec", JSONB(none_as_null=True), nullable=True),
        sa.Column("cost", JSONB(none_as_null=True), nullable=True),
        sa.Column("readings", JSONB(none_as_null=True), nullable=True),
        sa.CheckConstraint("kind IN ('ring', 'armed')", name="ck_standby_kind"),
        sa.CheckConstraint(
            "state IN ('waiting', 'watching', 'fired', 'expired', 'cancelled', 'failed')",
            name="ck_standby_state",
        ),
        sa.CheckConstraint("(kind = 'armed') = (wanted IS NOT NULL)", name="ck_standby_wanted"),
        sa.CheckConstraint(
            "(state IN ('waiting', 'watching')) = (ended_at IS NULL)", name="ck_standby_ended"
        ),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_standby_host_id"),
        sa.ForeignKeyConstraint(["requested_by"], ["user_account.id"], name="fk_standby_requested_by"),
        sa.ForeignKeyConstraint(["ended_by"], ["user_account.id"], name="fk_standby_ended_by"),
        sa.PrimaryKeyConstraint("id", name="pk_standby"),
        sa.UniqueConstraint("number", name="uq_standby_number"),
    )
    op.create_index("ix_standby_host_id", "standby", ["host_id"])
    op.create_index(
        "uq_standby_open",
        "standby",
        ["host_id", "kind"],
        unique=True,
        postgresql_where=sa.text("ended_at IS NULL"),
    )
    op.create_index(
        "ix_standby_due", "standby", ["not_before"], postgresql_where=sa.text("state = 'waiting'")
    )
    op.add_column("capture", sa.Column("standby_id", sa.Uuid(), nullable=True))
    op.create_foreign_key(
        "fk_capture_standby_id", "capture", "standby", ["standby_id"], ["id"], ondelete="SET NULL"
    )
    op.create_index("ix_capture_standby_id", "capture", ["standby_id"])
    op.drop_constraint(op.f("ck_capture_source"), "capture", type_="check")
    op.create_check_constraint(op.f("ck_capture_source"), "capture", f"source IN ({SOURCES}, 'armed')")
    op.add_column("run", sa.Column("look_back_ns", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    op.drop_column("run", "look_back_ns")
    op.drop_constraint(op.f("ck_capture_source"), "capture", type_="check")
    op.execute("UPDATE capture SET source = 'api' WHERE source = 'armed'")
    op.create_check_constraint(op.f("ck_capture_source"), "capture", f"source IN ({SOURCES})")
    op.drop_index("ix_capture_standby_id", "capture")
    op.drop_column("capture", "standby_id")
    op.drop_table("standby")
