"""What was true of hosts over time, and addresses that take one upload."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

TABLES = ("host_fact", "upload_address")


def upgrade() -> None:
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
        sa.CheckConstraint("since_ns <= seen_ns", name="ck_host_fact_span"),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_host_fact_host_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["first_run_id"], ["run.id"], name="fk_host_fact_first_run_id", ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["first_artifact_id"], ["artifact.id"], name="fk_host_fact_first_artifact_id", ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["last_run_id"], ["run.id"], name="fk_host_fact_last_run_id", ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["last_artifact_id"], ["artifact.id"], name="fk_host_fact_last_artifact_id", ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_host_fact"),
        sa.UniqueConstraint(
            "host_id", "source", "name", "since_ns", name="uq_host_fact_host_id_source_name_since_ns"
        ),
    )
    op.create_index("ix_host_fact_host_id_since_ns", "host_fact", ["host_id", "since_ns"])
    for name in ("first_run_id", "first_artifact_id", "last_run_id", "last_artifact_id"):
        op.create_index(f"ix_host_fact_{name}", "host_fact", [name])
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
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("used_from", sa.Text(), nullable=True),
        sa.Column("size", sa.BigInteger(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("failure", JSONB(none_as_null=True), nullable=True),
        sa.Column("capture_id", sa.Uuid(), nullable=True),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_upload_address_host_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["created_by"], ["user_account.id"], name="fk_upload_address_created_by"),
        sa.ForeignKeyConstraint(
            ["capture_id"], ["capture.id"], name="fk_upload_address_capture_id", ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_upload_address"),
        sa.UniqueConstraint("token_hash", name="uq_upload_address_token_hash"),
    )
    op.create_index("ix_upload_address_capture_id", "upload_address", ["capture_id"])


def downgrade() -> None:
    for name in reversed(TABLES):
        op.drop_table(name)
