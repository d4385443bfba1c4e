"""Events that are told with tokens for nothing else, what was true of hosts over time, addresses for one upload."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0015"
down_revision = "0013"
branch_labels = None
depends_on = None

TABLES = ("annotation", "annotation_host", "host_fact", "upload_address")


def upgrade() -> None:
    op.add_column("api_token", sa.Column("purpose", sa.Text(), nullable=True))
    op.create_check_constraint(op.f("ck_api_token_purpose"), "api_token", "purpose IN ('events')")
    op.create_table(
        "annotation",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("t_ns", sa.BigInteger(), nullable=False),
        sa.Column("end_ns", sa.BigInteger(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("link", sa.Text(), nullable=True),
        sa.Column("everywhere", sa.Boolean(), nullable=False),
        sa.Column("place", JSONB(none_as_null=True), nullable=False),
        sa.Column("external_id", sa.Text(), nullable=True),
        sa.Column("told_by", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("withdrawn_by", sa.Uuid(), nullable=True),
        sa.CheckConstraint("end_ns > t_ns", name="ck_annotation_span"),
        sa.CheckConstraint(
            "(withdrawn_at IS NULL) = (withdrawn_by IS NULL)", name="ck_annotation_withdrawn"
        ),
        sa.ForeignKeyConstraint(["told_by"], ["user_account.id"], name="fk_annotation_told_by"),
        sa.ForeignKeyConstraint(["withdrawn_by"], ["user_account.id"], name="fk_annotation_withdrawn_by"),
        sa.PrimaryKeyConstraint("id", name="pk_annotation"),
        sa.UniqueConstraint("told_by", "external_id", name="uq_annotation_told_by_external_id"),
    )
    op.create_index(
        "ix_annotation_shown", "annotation", ["t_ns"], postgresql_where=sa.text("withdrawn_at IS NULL")
    )
    op.create_table(
        "annotation_host",
        sa.Column("annotation_id", sa.Uuid(), nullable=False),
        sa.Column("host_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["annotation_id"],
            ["annotation.id"],
            name="fk_annotation_host_annotation_id",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["host_id"], ["host.id"], name="fk_annotation_host_host_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("annotation_id", "host_id", name="pk_annotation_host"),
    )
    op.create_index("ix_annotation_host_host_id", "annotation_host", ["host_id"])
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
    op.drop_constraint(op.f("ck_api_token_purpose"), "api_token")
    op.drop_column("api_token", "purpose")
