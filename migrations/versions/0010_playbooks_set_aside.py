"""Playbooks of an incident that somebody set aside as a whole, with the reason."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("incident_playbook", sa.Column("aside_reason", sa.Text(), nullable=True))
    op.add_column("incident_playbook", sa.Column("aside_by", sa.Uuid(), nullable=True))
    op.add_column("incident_playbook", sa.Column("aside_at", sa.DateTime(timezone=True), nullable=True))
    op.create_foreign_key(
        "fk_incident_playbook_aside_by", "incident_playbook", "user_account", ["aside_by"], ["id"]
    )


def downgrade() -> None:
    op.drop_constraint("fk_incident_playbook_aside_by", "incident_playbook", type_="foreignkey")
    for name in ("aside_at", "aside_by", "aside_reason"):
        op.drop_column("incident_playbook", name)
