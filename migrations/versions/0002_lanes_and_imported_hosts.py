"""Lanes as rows of their own with hours rolled up, and hosts that are known only from imports."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

JSONB = postgresql.JSONB(astext_type=sa.Text())
HOUR_NS = 3_600_000_000_000


def upgrade() -> None:
    op.create_table(
        "series",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("host_id", sa.Uuid(), nullable=False),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("labels", JSONB, nullable=False),
        sa.Column("labels_key", sa.Text(), nullable=False),
        sa.Column("axis", sa.Text(), nullable=True),
        sa.Column("first_ns", sa.BigInteger(), nullable=False),
        sa.Column("last_ns", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=op.f("fk_series_host_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_series")),
        sa.UniqueConstraint(
            "host_id", "metric", "labels_key", name=op.f("uq_series_host_id_metric_labels_key")
        ),
    )
    op.create_table(
        "series_day",
        sa.Column("series_id", sa.Uuid(), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("axis_values", JSONB, nullable=False),
        *(sa.Column(name, sa.LargeBinary(), nullable=False) for name in ("low", "mean", "high", "count")),
        sa.ForeignKeyConstraint(
            ["series_id"], ["series.id"], name=op.f("fk_series_day_series_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("series_id", "day", name=op.f("pk_series_day")),
    )
    # Chunks are derived data and are read again from the artifacts; none of the old form can be kept.
    op.execute("DELETE FROM series_chunk")
    op.add_column("series_chunk", sa.Column("series_id", sa.Uuid(), nullable=True))
    op.add_column("series_chunk", sa.Column("step_ns", sa.BigInteger(), nullable=False))
    op.add_column("series_chunk", sa.Column("raw_step_ns", sa.BigInteger(), nullable=False))
    op.add_column("series_chunk", sa.Column("summary", sa.LargeBinary(), nullable=True))
    op.create_foreign_key(
        op.f("fk_series_chunk_series_id"), "series_chunk", "series", ["series_id"], ["id"], ondelete="CASCADE"
    )
    op.create_check_constraint(
        op.f("ck_series_chunk_within_an_hour"), "series_chunk", f"t1_ns - t0_ns BETWEEN 0 AND {HOUR_NS}"
    )
    op.drop_index("ix_series_chunk_host_id_metric_level_t0_ns", table_name="series_chunk")
    op.create_index("ix_series_chunk_series_id_t0_ns_level", "series_chunk", ["series_id", "t0_ns", "level"])

    op.add_column("run", sa.Column("t0_ns", sa.BigInteger(), nullable=True))
    op.add_column("run", sa.Column("t1_ns", sa.BigInteger(), nullable=True))
    op.add_column("run", sa.Column("ingest_attempts", sa.Integer(), nullable=False, server_default="0"))
    op.alter_column("run", "ingest_attempts", server_default=None)
    op.add_column("run", sa.Column("facts", JSONB, nullable=True))
    op.create_index("ix_run_host_id_t0_ns", "run", ["host_id", "t0_ns"])

    op.drop_constraint(op.f("ck_host_state"), "host", type_="check")
    op.create_check_constraint(op.f("ck_host_state"), "host", "state IN ('active', 'imported', 'retired')")
    op.alter_column("host", "credential_id", nullable=True)
    op.create_check_constraint(
        op.f("ck_host_reachable"), "host", "state <> 'active' OR credential_id IS NOT NULL"
    )


def downgrade() -> None:
    # What only this form can hold goes: imported hosts, and all derived series.
    op.execute("DELETE FROM series_chunk")
    op.drop_constraint(op.f("ck_host_reachable"), "host", type_="check")
    imported = "(SELECT id FROM host WHERE credential_id IS NULL)"
    for table in ("event", "profile", "series", "run", "preflight"):
        op.execute(f"DELETE FROM {table} WHERE host_id IN {imported}")
    op.execute("DELETE FROM host WHERE credential_id IS NULL")
    op.alter_column("host", "credential_id", nullable=False)
    op.drop_constraint(op.f("ck_host_state"), "host", type_="check")
    op.execute("UPDATE host SET state = 'retired' WHERE state = 'imported'")
    op.create_check_constraint(op.f("ck_host_state"), "host", "state IN ('active', 'retired')")

    op.drop_index("ix_run_host_id_t0_ns", table_name="run")
    for column in ("facts", "ingest_attempts", "t1_ns", "t0_ns"):
        op.drop_column("run", column)

    op.drop_index("ix_series_chunk_series_id_t0_ns_level", table_name="series_chunk")
    op.drop_constraint(op.f("ck_series_chunk_within_an_hour"), "series_chunk", type_="check")
    op.drop_constraint(op.f("fk_series_chunk_series_id"), "series_chunk", type_="foreignkey")
    for column in ("summary", "raw_step_ns", "step_ns", "series_id"):
        op.drop_column("series_chunk", column)
    op.create_index(
        "ix_series_chunk_host_id_metric_level_t0_ns", "series_chunk", ["host_id", "metric", "level", "t0_ns"]
    )
    op.drop_table("series_day")
    op.drop_table("series")
