"""Allow profiles of bytes and of counts, which other tools record."""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _replace("unit IN ('samples', 'ns', 'bytes', 'count')")


def downgrade() -> None:
    op.execute("DELETE FROM profile WHERE unit IN ('bytes', 'count')")
    _replace("unit IN ('samples', 'ns')")


def _replace(units: str) -> None:
    op.drop_constraint(op.f("ck_profile_unit"), "profile", type_="check")
    op.create_check_constraint(op.f("ck_profile_unit"), "profile", units)
