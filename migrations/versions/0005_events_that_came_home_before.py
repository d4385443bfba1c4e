"""Events remember which earlier one they repeat, so that a line read at every capture is shown once."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("event", sa.Column("same_key", sa.LargeBinary(), nullable=True))
    op.add_column("event", sa.Column("repeats_id", sa.Uuid(), nullable=True))
    op.create_foreign_key(
        "fk_event_repeats_id", "event", "event", ["repeats_id"], ["id"], ondelete="SET NULL"
    )
    op.create_index(
        "ix_event_same",
        "event",
        ["same_key", "t_ns"],
        postgresql_where=sa.text("same_key IS NOT NULL AND repeats_id IS NULL"),
    )
    op.create_index(
        "ix_event_repeats_id", "event", ["repeats_id"], postgresql_where=sa.text("repeats_id IS NOT NULL")
    )
    op.create_index(
        "ix_event_shown", "event", ["host_id", "t_ns"], postgresql_where=sa.text("repeats_id IS NULL")
    )
    op.drop_index("ix_event_host_id_t_ns", "event")


def downgrade() -> None:
    op.create_index("ix_event_host_id_t_ns", "event", ["host_id", "t_ns"])
    op.drop_index("ix_event_shown", "event")
    op.drop_index("ix_event_repeats_id", "event")
    op.drop_index("ix_event_same", "event")
    op.drop_constraint("fk_event_repeats_id", "event", type_="foreignkey")
    op.drop_column("event", "repeats_id")
    op.drop_column("event", "same_key")
