"""Reports: drafts, frozen versions that nobody changes, links to them and who opened those."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

TABLES = ("report", "report_version", "report_share", "report_visit")
FROZEN = """
CREATE FUNCTION report_version_frozen() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.content, NEW.ciphertext, NEW.nonce, NEW.counts, NEW.hosts, NEW.sha256, NEW.number, NEW.report_id, NEW.created_by,
        NEW.created_at)
       IS DISTINCT FROM
       (OLD.content, OLD.ciphertext, OLD.nonce, OLD.counts, OLD.hosts, OLD.sha256, OLD.number, OLD.report_id, OLD.created_by,
        OLD.created_at) THEN
        RAISE EXCEPTION 'a frozen report does not change' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER report_version_frozen BEFORE UPDATE ON report_version
    FOR EACH ROW EXECUTE FUNCTION report_version_frozen();
"""


def upgrade() -> None:
    op.create_table(
        "report",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("incident_id", sa.Uuid(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("zone", sa.Text(), nullable=False),
        sa.Column("preset", sa.Text(), nullable=False),
        sa.Column("kinds", JSONB(none_as_null=True), nullable=False),
        sa.Column("words", JSONB(none_as_null=True), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("impact", sa.Text(), nullable=False),
        sa.Column("detected_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("mitigated_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("follow_ups", JSONB(none_as_null=True), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("frozen", sa.Integer(), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("preset IN ('internal', 'customer')", name="ck_report_preset"),
        sa.CheckConstraint("language IN ('en', 'zh')", name="ck_report_language"),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name="fk_report_incident_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["created_by"], ["user_account.id"], name="fk_report_created_by"),
        sa.PrimaryKeyConstraint("id", name="pk_report"),
    )
    op.create_index("ix_report_incident_id", "report", ["incident_id"])
    op.create_table(
        "report_version",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("report_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("ciphertext", sa.LargeBinary(), nullable=False),
        sa.Column("nonce", sa.LargeBinary(), nullable=False),
        sa.Column("wrapped_key", sa.LargeBinary(), nullable=False),
        sa.Column("key_version", sa.Integer(), nullable=False),
        sa.Column("counts", JSONB(none_as_null=True), nullable=False),
        sa.Column("hosts", JSONB(none_as_null=True), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("approved_by", sa.Uuid(), nullable=True),
        sa.Column("approved_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["report_id"], ["report.id"], name="fk_report_version_report_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["created_by"], ["user_account.id"], name="fk_report_version_created_by"),
        sa.ForeignKeyConstraint(["approved_by"], ["user_account.id"], name="fk_report_version_approved_by"),
        sa.PrimaryKeyConstraint("id", name="pk_report_version"),
        sa.UniqueConstraint("report_id", "number", name="uq_report_version_report_id_number"),
    )
    op.execute(FROZEN)
    op.create_table(
        "report_share",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("version_id", sa.Uuid(), nullable=False),
        sa.Column("token_hash", sa.LargeBinary(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["version_id"], ["report_version.id"], name="fk_report_share_version_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["created_by"], ["user_account.id"], name="fk_report_share_created_by"),
        sa.PrimaryKeyConstraint("id", name="pk_report_share"),
        sa.UniqueConstraint("token_hash", name="uq_report_share_token_hash"),
    )
    op.create_index("ix_report_share_version_id", "report_share", ["version_id"])
    op.create_table(
        "report_visit",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("share_id", sa.Uuid(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("form", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["share_id"], ["report_share.id"], name="fk_report_visit_share_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_report_visit"),
    )
    op.create_index("ix_report_visit_share_id_at", "report_visit", ["share_id", "at"])


def downgrade() -> None:
    for name in reversed(TABLES):
        op.drop_table(name)
    op.execute("DROP FUNCTION report_version_frozen()")
