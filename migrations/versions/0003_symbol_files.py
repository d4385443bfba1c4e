"""Store which artifacts hold the symbols of the files of a host, and why functions of a profile have no name."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "symbol_file",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("host_id", sa.Uuid(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("artifact_id", sa.Uuid(), nullable=False),
        sa.Column("blocks", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.ForeignKeyConstraint(
            ["artifact_id"], ["artifact.id"], name=op.f("fk_symbol_file_artifact_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["host_id"], ["host.id"], name=op.f("fk_symbol_file_host_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_symbol_file")),
        sa.UniqueConstraint("host_id", "key", name=op.f("uq_symbol_file_host_id_key")),
    )
    op.create_index(op.f("ix_symbol_file_artifact_id"), "symbol_file", ["artifact_id"])
    op.add_column(
        "profile",
        sa.Column("naming", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
    )


def downgrade() -> None:
    op.drop_column("profile", "naming")
    op.drop_table("symbol_file")
