"""Why a run waits, and how often it was tried for whose sake."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("run", sa.Column("waiting", postgresql.JSONB(astext_type=sa.Text()), nullable=True))
    for name in ("worker_losses", "host_failures"):
        op.add_column("run", sa.Column(name, sa.Integer(), server_default="0", nullable=False))
        op.alter_column("run", name, server_default=None)


def downgrade() -> None:
    for name in ("host_failures", "worker_losses", "waiting"):
        op.drop_column("run", name)
