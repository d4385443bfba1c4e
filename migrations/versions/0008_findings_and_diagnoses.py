"""What rules found, thresholds that somebody set, and diagnoses."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "evaluation",
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("elapsed_ms", sa.Float(), nullable=False),
        sa.Column("quiet", JSONB(none_as_null=True), nullable=False),
        sa.Column("not_evaluated", JSONB(none_as_null=True), nullable=False),
        sa.Column("ranking", JSONB(none_as_null=True), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_evaluation_run_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", name="pk_evaluation"),
    )
    op.create_table(
        "finding",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("host_id", sa.Uuid(), nullable=True),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("severity", sa.Text(), nullable=False),
        sa.Column("grade", sa.Text(), nullable=False),
        sa.Column("subject", JSONB(none_as_null=True), nullable=False),
        sa.Column("numbers", JSONB(none_as_null=True), nullable=False),
        sa.Column("reason", JSONB(none_as_null=True), nullable=True),
        sa.Column("detail", JSONB(none_as_null=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("state IN ('fired', 'inconclusive')", name="ck_finding_state"),
        sa.CheckConstraint("severity IN ('info', 'warn', 'critical')", name="ck_finding_severity"),
        sa.CheckConstraint(
            "grade IN ('direct', 'mechanism', 'correlational', 'context')", name="ck_finding_grade"
        ),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_finding_run_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_finding_host_id"),
        sa.PrimaryKeyConstraint("id", name="pk_finding"),
    )
    op.create_index("ix_finding_run_id", "finding", ["run_id"])
    op.create_index("ix_finding_host_id_created_at", "finding", ["host_id", "created_at"])
    op.create_index("ix_finding_rule_created_at", "finding", ["rule", "created_at"])
    op.create_table(
        "threshold",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Float(), nullable=False),
        sa.Column("label_name", sa.Text(), nullable=True),
        sa.Column("label_value", sa.Text(), nullable=True),
        sa.Column("host_id", sa.Uuid(), nullable=True),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("set_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_threshold_host_id"),
        sa.ForeignKeyConstraint(["set_by"], ["user_account.id"], name="fk_threshold_set_by"),
        sa.PrimaryKeyConstraint("id", name="pk_threshold"),
    )
    op.create_index("ix_threshold_host_id", "threshold", ["host_id"])
    op.create_index(
        "uq_threshold_place",
        "threshold",
        [
            "name",
            sa.text("coalesce(label_name, '')"),
            sa.text("coalesce(label_value, '')"),
            sa.text("coalesce(host_id, '00000000-0000-0000-0000-000000000000'::uuid)"),
        ],
        unique=True,
    )
    op.create_table(
        "diagnosis",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("host_id", sa.Uuid(), nullable=False),
        sa.Column("scope", JSONB(none_as_null=True), nullable=False),
        sa.Column("seconds", sa.Integer(), nullable=False),
        sa.Column("baseline", sa.Text(), nullable=False),
        sa.Column("baseline_run_id", sa.Uuid(), nullable=True),
        sa.Column("twins", JSONB(none_as_null=True), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("stages", JSONB(none_as_null=True), nullable=False),
        sa.Column("result", JSONB(none_as_null=True), nullable=True),
        sa.Column("failure", JSONB(none_as_null=True), nullable=True),
        sa.Column("requested_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state IN ('running', 'done', 'failed', 'cancelled')", name="ck_diagnosis_state"
        ),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_diagnosis_host_id"),
        sa.ForeignKeyConstraint(
            ["baseline_run_id"], ["run.id"], name="fk_diagnosis_baseline_run_id", ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(["requested_by"], ["user_account.id"], name="fk_diagnosis_requested_by"),
        sa.PrimaryKeyConstraint("id", name="pk_diagnosis"),
        sa.UniqueConstraint("number", name="uq_diagnosis_number"),
    )
    op.create_index("ix_diagnosis_host_id_created_at", "diagnosis", ["host_id", "created_at"])
    op.create_index(
        "ix_diagnosis_running", "diagnosis", ["state"], postgresql_where=sa.text("state = 'running'")
    )
    op.add_column("capture", sa.Column("diagnosis_id", sa.Uuid(), nullable=True))
    op.create_foreign_key(
        "fk_capture_diagnosis_id", "capture", "diagnosis", ["diagnosis_id"], ["id"], ondelete="SET NULL"
    )
    op.create_index("ix_capture_diagnosis_id", "capture", ["diagnosis_id"])


def downgrade() -> None:
    op.drop_index("ix_capture_diagnosis_id", "capture")
    op.drop_constraint("fk_capture_diagnosis_id", "capture", type_="foreignkey")
    op.drop_column("capture", "diagnosis_id")
    for table in ("diagnosis", "threshold", "finding", "evaluation"):
        op.drop_table(table)
