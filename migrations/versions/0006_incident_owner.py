"""Add the owner of an incident: the account that leads the investigation."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("incident", sa.Column("owner_id", sa.Uuid()))
    op.create_foreign_key(op.f("fk_incident_owner_id"), "incident", "user_account", ["owner_id"], ["id"])


def downgrade() -> None:
    op.drop_column("incident", "owner_id")
