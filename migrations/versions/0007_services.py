"""Services declare where their numbers come from."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "service",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("selector", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("locate", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("source_kind", sa.Text(), nullable=False),
        sa.Column("source", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("ciphertext", sa.LargeBinary(), nullable=True),
        sa.Column("nonce", sa.LargeBinary(), nullable=True),
        sa.Column("wrapped_key", sa.LargeBinary(), nullable=True),
        sa.Column("key_version", sa.Integer(), nullable=True),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "source_kind IN ('none', 'prometheus', 'access_log', 'accepts')", name=op.f("ck_service_source_kind")
        ),
        sa.CheckConstraint(
            "(ciphertext IS NULL) = (key_version IS NULL) AND (ciphertext IS NULL OR source_kind = 'prometheus')",
            name=op.f("ck_service_token"),
        ),
        sa.ForeignKeyConstraint(["created_by"], ["user_account.id"], name=op.f("fk_service_created_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_service")),
        sa.UniqueConstraint("name", name=op.f("uq_service_name")),
    )


def downgrade() -> None:
    op.drop_table("service")
