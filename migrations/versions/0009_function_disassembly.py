"""Store the instructions of functions of profiles, with the samples of each."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    json = postgresql.JSONB(none_as_null=True, astext_type=sa.Text())
    op.create_table(
        "function_disassembly",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("profile_id", sa.Uuid(), nullable=False),
        sa.Column("function", sa.Text(), nullable=False),
        sa.Column("module", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("failure", json, nullable=True),
        sa.Column("result", json, nullable=True),
        sa.Column("requested_by", sa.Uuid(), nullable=True),
        sa.Column("fetch_state", sa.Text(), nullable=True),
        sa.Column("fetch_failure", json, nullable=True),
        sa.Column("fetch_started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("fetched_by", sa.Uuid(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'ready', 'failed')", name=op.f("ck_function_disassembly_state")
        ),
        sa.CheckConstraint(
            "fetch_state IN ('queued', 'running', 'done', 'failed')",
            name=op.f("ck_function_disassembly_fetch_state"),
        ),
        sa.ForeignKeyConstraint(
            ["profile_id"], ["profile.id"], name=op.f("fk_function_disassembly_profile_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["requested_by"], ["user_account.id"], name=op.f("fk_function_disassembly_requested_by")
        ),
        sa.ForeignKeyConstraint(
            ["fetched_by"], ["user_account.id"], name=op.f("fk_function_disassembly_fetched_by")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_function_disassembly")),
    )
    op.create_index(
        "uq_function_disassembly_name",
        "function_disassembly",
        ["profile_id", sa.text("md5(function)"), sa.text("md5(module)")],
        unique=True,
    )


def downgrade() -> None:
    op.drop_table("function_disassembly")
