"""Events that people and pipelines tell, and tokens that may do nothing else."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

TABLES = ("annotation", "annotation_host")


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


def downgrade() -> None:
    for name in reversed(TABLES):
        op.drop_table(name)
    op.drop_constraint(op.f("ck_api_token_purpose"), "api_token")
    op.drop_column("api_token", "purpose")
