"""Rings that keep stacks, too."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("standby", sa.Column("stacks", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.alter_column("standby", "stacks", server_default=None)


def downgrade() -> None:
    op.drop_column("standby", "stacks")
