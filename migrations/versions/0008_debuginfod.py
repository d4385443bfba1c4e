"""Store the debuginfod servers that admins allow, and what these servers answered for each build ID."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "debuginfod_server",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["created_by"], ["user_account.id"], name=op.f("fk_debuginfod_server_created_by")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_debuginfod_server")),
        sa.UniqueConstraint("url", name=op.f("uq_debuginfod_server_url")),
    )
    op.create_table(
        "debug_file",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("server_id", sa.Uuid(), nullable=False),
        sa.Column("build_id", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("artifact_id", sa.Uuid(), nullable=True),
        sa.Column("blocks", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("checked_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "state IN ('file', 'absent', 'mismatch', 'no_symbols', 'too_large', 'unreadable')",
            name=op.f("ck_debug_file_state"),
        ),
        sa.ForeignKeyConstraint(
            ["artifact_id"], ["artifact.id"], name=op.f("fk_debug_file_artifact_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["server_id"], ["debuginfod_server.id"], name=op.f("fk_debug_file_server_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_debug_file")),
        sa.UniqueConstraint("server_id", "build_id", name=op.f("uq_debug_file_server_id_build_id")),
    )
    op.create_index(op.f("ix_debug_file_artifact_id"), "debug_file", ["artifact_id"])


def downgrade() -> None:
    op.drop_table("debug_file")
    op.drop_table("debuginfod_server")
