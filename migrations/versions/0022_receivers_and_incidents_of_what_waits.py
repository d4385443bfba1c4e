"""How long somebody who receives an upload is believed to be there, and captures armed for an incident."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("upload_address", sa.Column("claimed_until", sa.DateTime(timezone=True), nullable=True))
    op.add_column("standby", sa.Column("incident_id", sa.Uuid(), nullable=True))
    op.create_foreign_key(
        "fk_standby_incident_id", "standby", "incident", ["incident_id"], ["id"], ondelete="SET NULL"
    )
    op.create_index("ix_standby_incident_id", "standby", ["incident_id"])


def downgrade() -> None:
    op.drop_column("standby", "incident_id")
    op.drop_column("upload_address", "claimed_until")
