"""Maintenance that comes again by cron fields on the clock of a zone."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

RECURS = "(cron IS NULL) = (zone IS NULL) AND (cron IS NULL) = (minutes IS NULL) AND minutes > 0"


def upgrade() -> None:
    op.alter_column("maintenance_window", "ends_at", nullable=True)
    op.add_column("maintenance_window", sa.Column("cron", sa.Text(), nullable=True))
    op.add_column("maintenance_window", sa.Column("zone", sa.Text(), nullable=True))
    op.add_column("maintenance_window", sa.Column("minutes", sa.Integer(), nullable=True))
    op.create_check_constraint(
        op.f("ck_maintenance_window_ends"), "maintenance_window", "cron IS NOT NULL OR ends_at IS NOT NULL"
    )
    op.create_check_constraint(op.f("ck_maintenance_window_recurs"), "maintenance_window", RECURS)


def downgrade() -> None:
    # A version that knows no recurrence would take such a window for one that never pauses.
    op.execute("DELETE FROM maintenance_window WHERE cron IS NOT NULL")
    op.drop_constraint(op.f("ck_maintenance_window_recurs"), "maintenance_window", type_="check")
    op.drop_constraint(op.f("ck_maintenance_window_ends"), "maintenance_window", type_="check")
    for name in ("minutes", "zone", "cron"):
        op.drop_column("maintenance_window", name)
    op.alter_column("maintenance_window", "ends_at", nullable=False)
