"""Rows of tables name the lines that they were read from; a host may allow tools that use ptrace."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("result_table", sa.Column("lines", postgresql.JSONB(), nullable=False, server_default="[]"))
    op.alter_column("result_table", "lines", server_default=None)
    op.add_column("host", sa.Column("allows_ptrace", sa.Boolean(), nullable=False, server_default="false"))
    op.alter_column("host", "allows_ptrace", server_default=None)


def downgrade() -> None:
    op.drop_column("host", "allows_ptrace")
    op.drop_column("result_table", "lines")
