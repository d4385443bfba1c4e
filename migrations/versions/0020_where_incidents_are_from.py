"""Where incidents are from that another Culprit has exported."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "incident_origin",
        sa.Column("incident_id", sa.Uuid(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("culprit", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("redacted", sa.Boolean(), nullable=False),
        sa.Column("written_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("imported_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("imported_by", sa.Uuid(), nullable=True),
        sa.Column("expected", JSONB(none_as_null=True), nullable=False),
        sa.Column("compared", JSONB(none_as_null=True), nullable=True),
        sa.Column("said_by", JSONB(none_as_null=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name="fk_incident_origin_incident_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["imported_by"], ["user_account.id"], name="fk_incident_origin_imported_by"),
        sa.PrimaryKeyConstraint("incident_id", name="pk_incident_origin"),
    )
    op.create_index("ix_incident_origin_sha256", "incident_origin", ["sha256"])


def downgrade() -> None:
    op.drop_table("incident_origin")
