"""Signing in with an identity provider: its settings, who is who there, and who is under way. Comments on incidents, annotations."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

TABLES = ("oidc_provider", "user_identity", "login_flow", "incident_comment", "grafana_annotation")
ROLES = "('viewer', 'investigator', 'oncall', 'admin')"


def upgrade() -> None:
    op.create_table(
        "oidc_provider",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("singleton", sa.Boolean(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("issuer", sa.Text(), nullable=False),
        sa.Column("client_id", sa.Text(), nullable=False),
        sa.Column("scopes", JSONB(none_as_null=True), nullable=False),
        sa.Column("groups_claim", sa.Text(), nullable=False),
        sa.Column("name_claim", sa.Text(), nullable=False),
        sa.Column("roles", JSONB(none_as_null=True), nullable=False),
        sa.Column("otherwise", sa.Text(), nullable=True),
        sa.Column("session_hours", sa.Integer(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("ciphertext", sa.LargeBinary(), nullable=True),
        sa.Column("nonce", sa.LargeBinary(), nullable=True),
        sa.Column("wrapped_key", sa.LargeBinary(), nullable=True),
        sa.Column("key_version", sa.Integer(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(f"otherwise IN {ROLES}", name="ck_oidc_provider_otherwise"),
        sa.CheckConstraint("singleton", name="ck_oidc_provider_singleton"),
        sa.CheckConstraint("session_hours BETWEEN 1 AND 168", name="ck_oidc_provider_session_hours"),
        sa.CheckConstraint("(ciphertext IS NULL) = (key_version IS NULL)", name="ck_oidc_provider_secret"),
        sa.PrimaryKeyConstraint("id", name="pk_oidc_provider"),
        sa.UniqueConstraint("singleton", name="uq_oidc_provider_singleton"),
    )
    op.create_table(
        "user_identity",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("issuer", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("groups", JSONB(none_as_null=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name="fk_user_identity_user_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_user_identity"),
        sa.UniqueConstraint("issuer", "subject", name="uq_user_identity_issuer_subject"),
        sa.UniqueConstraint("user_id", name="uq_user_identity_user_id"),
    )
    op.create_table(
        "login_flow",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("provider_id", sa.Uuid(), nullable=False),
        sa.Column("provider_version", sa.Integer(), nullable=False),
        sa.Column("state_hash", sa.LargeBinary(), nullable=False),
        sa.Column("browser_hash", sa.LargeBinary(), nullable=False),
        sa.Column("next", sa.Text(), nullable=False),
        sa.Column("attempt_id", sa.Uuid(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["provider_id"], ["oidc_provider.id"], name="fk_login_flow_provider_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_login_flow"),
        sa.UniqueConstraint("state_hash", name="uq_login_flow_state_hash"),
    )
    op.create_index("ix_login_flow_provider_id", "login_flow", ["provider_id"])
    op.create_index("ix_login_flow_expires_at", "login_flow", ["expires_at"])

    op.create_table(
        "incident_comment",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("incident_id", sa.Uuid(), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("ref", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("earlier", JSONB(none_as_null=True), nullable=False),
        sa.Column("mentions", JSONB(none_as_null=True), nullable=False),
        sa.Column("by", sa.Uuid(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("edited_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("withdrawn_by", sa.Uuid(), nullable=True),
        sa.CheckConstraint(
            "about IN ('incident', 'step', 'hypothesis', 'pin')", name="ck_incident_comment_about"
        ),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incident.id"], name="fk_incident_comment_incident_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["by"], ["user_account.id"], name="fk_incident_comment_by"),
        sa.ForeignKeyConstraint(
            ["withdrawn_by"], ["user_account.id"], name="fk_incident_comment_withdrawn_by"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_incident_comment"),
    )
    op.create_index("ix_incident_comment_incident_id_id", "incident_comment", ["incident_id", "id"])
    op.add_column("channel", sa.Column("user_id", sa.Uuid(), nullable=True))
    op.create_foreign_key(
        "fk_channel_user_id", "channel", "user_account", ["user_id"], ["id"], ondelete="SET NULL"
    )
    op.create_index("ix_channel_user_id", "channel", ["user_id"])
    _about("('firing', 'mention', 'test')")
    op.add_column("report", sa.Column("comments", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.alter_column("report", "comments", server_default=None)
    _kinds("('webhook', 'slack', 'email', 'grafana')")
    op.create_table(
        "grafana_annotation",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("channel_id", sa.Uuid(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("wanted", JSONB(none_as_null=True), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("removed", sa.Boolean(), nullable=False),
        sa.Column("grafana_id", sa.BigInteger(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("not_before", sa.DateTime(timezone=True), nullable=False),
        sa.Column("failure", JSONB(none_as_null=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("state IN ('queued', 'sent', 'dead', 'gone')", name="ck_grafana_annotation_state"),
        sa.ForeignKeyConstraint(["channel_id"], ["channel.id"], name="fk_grafana_annotation_channel_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_grafana_annotation"),
        sa.UniqueConstraint("channel_id", "key", name="uq_grafana_annotation_channel_id_key"),
    )
    op.create_index(
        "ix_grafana_annotation_queued", "grafana_annotation", ["not_before"], postgresql_where=sa.text("state = 'queued'")
    )


def _about(words: str) -> None:
    op.drop_constraint("ck_notice_about", "notice", type_="check")
    op.create_check_constraint("ck_notice_about", "notice", f"about IN {words}")


def _kinds(words: str) -> None:
    op.drop_constraint("ck_channel_kind", "channel", type_="check")
    op.create_check_constraint("ck_channel_kind", "channel", f"kind IN {words}")


def downgrade() -> None:
    op.execute("DELETE FROM channel WHERE kind = 'grafana'")
    _kinds("('webhook', 'slack', 'email')")
    op.drop_column("report", "comments")
    op.execute("DELETE FROM notice WHERE about = 'mention'")
    _about("('firing', 'test')")
    op.drop_index("ix_channel_user_id", "channel")
    op.drop_constraint("fk_channel_user_id", "channel", type_="foreignkey")
    op.drop_column("channel", "user_id")
    for name in reversed(TABLES):
        op.drop_table(name)
