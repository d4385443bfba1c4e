"""Profiles and comparisons remember how often and since when they are being built."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

TABLES = ("profile", "profile_diff")


def upgrade() -> None:
    for table in TABLES:
        op.add_column(table, sa.Column("attempts", sa.Integer(), nullable=False, server_default="0"))
        op.alter_column(table, "attempts", server_default=None)
        op.add_column(table, sa.Column("started_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    for table in TABLES:
        op.drop_column(table, "started_at")
        op.drop_column(table, "attempts")
