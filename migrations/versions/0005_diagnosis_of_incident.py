"""Link a diagnosis with the incident that it was started for, and limit the tier of its stages."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("diagnosis", sa.Column("incident_id", sa.Uuid()))
    op.add_column("diagnosis", sa.Column("max_tier", sa.Text(), nullable=False, server_default="deep"))
    tiers = "max_tier IN ('light', 'standard', 'deep')"
    op.create_check_constraint(op.f("ck_diagnosis_max_tier"), "diagnosis", tiers)
    op.add_column("diagnosis", sa.Column("recorded_at", sa.DateTime(timezone=True)))
    op.create_foreign_key(
        op.f("fk_diagnosis_incident_id"), "diagnosis", "incident", ["incident_id"], ["id"], ondelete="SET NULL"
    )
    where = sa.text("incident_id IS NOT NULL")
    op.create_index("ix_diagnosis_incident", "diagnosis", ["incident_id"], postgresql_where=where)
    # Until now, a diagnosis was recorded in its incident when the channels of its trigger were notified.
    op.execute(
        "UPDATE diagnosis SET incident_id = r.incident_id, recorded_at = r.notified_at"
        " FROM trigger_response r WHERE r.diagnosis_id = diagnosis.id AND r.incident_id IS NOT NULL"
    )


def downgrade() -> None:
    op.drop_index("ix_diagnosis_incident", table_name="diagnosis")
    op.drop_constraint(op.f("fk_diagnosis_incident_id"), "diagnosis", type_="foreignkey")
    op.drop_column("diagnosis", "recorded_at")
    op.drop_constraint(op.f("ck_diagnosis_max_tier"), "diagnosis", type_="check")
    op.drop_column("diagnosis", "max_tier")
    op.drop_column("diagnosis", "incident_id")
