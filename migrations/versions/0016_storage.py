"""How long data are kept, what was deleted, and looks at the storage."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

KINDS = "kind IN ('recordings', 'texts', 'imports', 'profiles', 'comparisons', 'series', 'tables', 'events')"
# Every id that a JSON value names, wherever it stands: what it cites can then be found by an index. Its cost says that
# to read it for each row is worth avoiding; by the usual cost the planner would rather do that than look up many ids.
MENTIONED = r"""
CREATE FUNCTION mentioned_ids(jsonb) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 10000 AS $$
    SELECT coalesce(array_agg(DISTINCT found[1]), '{}') FROM regexp_matches(
        lower($1::text), '([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})', 'g') AS found
$$
"""
MENTIONS = (
    ("pin", "ref"),
    ("pin", "said"),
    ("verification", "before"),
    ("verification", "made_before"),
    ("verification", "after"),
    ("profile_diff", "a"),
    ("profile_diff", "b"),
    ("incident", "symptom"),
)
KEPT = ("artifact", "profile", "profile_diff")
KEYS = (("profile", "store_key"), ("profile", "tree_key"), ("profile_diff", "result_key"))


def upgrade() -> None:
    op.create_table(
        "retention_policy",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("days", sa.Integer(), nullable=True),
        sa.Column("max_bytes", sa.BigInteger(), nullable=True),
        sa.Column("cursor", sa.Uuid(), nullable=True),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("updated_by", sa.Uuid(), nullable=True),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(KINDS, name="ck_retention_policy_kind"),
        sa.CheckConstraint("days >= 1 AND max_bytes >= 0", name="ck_retention_policy_limits"),
        sa.ForeignKeyConstraint(["updated_by"], ["user_account.id"], name="fk_retention_policy_updated_by"),
        sa.PrimaryKeyConstraint("id", name="pk_retention_policy"),
        sa.UniqueConstraint("kind", name="uq_retention_policy_kind"),
    )
    op.create_index(
        "ix_retention_policy_due",
        "retention_policy",
        ["due_at"],
        postgresql_where=sa.text("due_at IS NOT NULL"),
    )
    op.create_table(
        "removal",
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("items", sa.Integer(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(KINDS, name="ck_removal_kind"),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_removal_run_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "kind", name="pk_removal"),
    )
    op.create_index("ix_removal_at", "removal", ["at"])
    op.create_table(
        "doomed_blob",
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name="pk_doomed_blob"),
    )
    op.create_index("ix_doomed_blob_at", "doomed_blob", ["at"])
    op.create_table(
        "storage_look",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("result", JSONB(none_as_null=True), nullable=True),
        sa.Column("requested_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("kind IN ('measure', 'check')", name="ck_storage_look_kind"),
        sa.CheckConstraint("state IN ('queued', 'running', 'done', 'failed')", name="ck_storage_look_state"),
        sa.ForeignKeyConstraint(["requested_by"], ["user_account.id"], name="fk_storage_look_requested_by"),
        sa.PrimaryKeyConstraint("id", name="pk_storage_look"),
    )
    op.create_index("ix_storage_look_kind_id", "storage_look", ["kind", "id"])
    for table in KEPT:
        op.add_column(table, sa.Column("removed_at", sa.DateTime(timezone=True), nullable=True))
        op.create_index(
            f"ix_{table}_kept", table, ["id"], postgresql_where=sa.text("removed_at IS NULL")
        )
    for table in ("profile", "profile_diff"):
        size = sa.Column("stored_size", sa.BigInteger(), server_default="0", nullable=False)
        op.add_column(table, size)
    for table, column in KEYS:
        op.create_index(f"ix_{table}_{column}", table, [column])
    op.create_index(
        "ix_diagnosis_baseline",
        "diagnosis",
        ["baseline_run_id"],
        postgresql_where=sa.text("baseline_run_id IS NOT NULL"),
    )
    op.execute(MENTIONED)
    for table, column in MENTIONS:
        name = f"ix_{table}_{column}_ids"
        op.create_index(name, table, [sa.text(f"mentioned_ids({column})")], postgresql_using="gin")


def downgrade() -> None:
    for table, column in MENTIONS:
        op.drop_index(f"ix_{table}_{column}_ids", table)
    op.execute("DROP FUNCTION mentioned_ids(jsonb)")
    op.drop_index("ix_diagnosis_baseline", "diagnosis")
    for table, column in KEYS:
        op.drop_index(f"ix_{table}_{column}", table)
    for table in ("profile", "profile_diff"):
        op.drop_column(table, "stored_size")
    for table in KEPT:
        op.drop_index(f"ix_{table}_kept", table)
        op.drop_column(table, "removed_at")
    for name in ("storage_look", "doomed_blob", "removal", "retention_policy"):
        op.drop_table(name)
