"""Store when the bytes of each stored file were last read, and whether they still match their digest."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "blob_check",
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=True),
        sa.Column("checked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("altered_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "reason IN ('altered', 'truncated', 'missing', 'unreadable')", name=op.f("ck_blob_check_reason")
        ),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_blob_check")),
    )
    op.create_index(op.f("ix_blob_check_checked_at"), "blob_check", ["checked_at"])
    op.create_index(
        "ix_blob_check_altered", "blob_check", ["altered_at"], postgresql_where=sa.text("altered_at IS NOT NULL")
    )


def downgrade() -> None:
    op.drop_table("blob_check")
