"""Allow alternating verifications, and list those that wait for the fix among the open ones."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _replace(
        "kind IN ('plain', 'control', 'cohort', 'alternating')",
        "state IN ('before', 'waiting', 'collecting', 'judging')",
    )


def downgrade() -> None:
    op.execute("DELETE FROM verification WHERE kind = 'alternating'")
    _replace("kind IN ('plain', 'control', 'cohort')", "state IN ('before', 'collecting', 'judging')")


def _replace(kinds: str, open_states: str) -> None:
    op.drop_constraint(op.f("ck_verification_kind"), "verification", type_="check")
    op.create_check_constraint(op.f("ck_verification_kind"), "verification", kinds)
    op.drop_index("ix_verification_open", "verification")
    op.create_index(
        "ix_verification_open",
        "verification",
        ["state"],
        unique=False,
        postgresql_where=sa.text(open_states),
    )
