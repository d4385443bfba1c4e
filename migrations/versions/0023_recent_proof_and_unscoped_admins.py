"""When a session was proved, sign-ins that prove one, and no admin with a label scope.

An admin with a label scope could read everything and clear the scope: the role was worth more than the scope said. The
scope is kept and the role is lowered to on-call. Where no other admin with a password would be left, the scope is
cleared instead, which gives that admin nothing that they could not take. Each change is an entry of the audit log.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

AUDIT_LOCK = 0x41554454


def upgrade() -> None:
    op.add_column("login_session", sa.Column("proved_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("login_flow", sa.Column("session_id", sa.Uuid(), nullable=True))
    op.create_foreign_key(
        op.f("fk_login_flow_session_id_login_session"),
        "login_flow",
        "login_session",
        ["session_id"],
        ["id"],
        ondelete="CASCADE",
    )
    op.create_index(op.f("ix_login_flow_session_id"), "login_flow", ["session_id"])
    _separate_admins_from_scopes()
    op.create_check_constraint(
        op.f("ck_user_account_admin_unscoped"),
        "user_account",
        "role <> 'admin' OR label_scope = '{}'::jsonb",
    )


def downgrade() -> None:
    op.drop_constraint(op.f("ck_user_account_admin_unscoped"), "user_account")
    op.drop_column("login_flow", "session_id")
    op.drop_column("login_session", "proved_at")


def _separate_admins_from_scopes() -> None:
    session = op.get_bind()
    scoped = session.execute(
        sa.text(
            "SELECT id, name, label_scope FROM user_account WHERE role = 'admin' AND label_scope <> '{}'::jsonb"
            " ORDER BY disabled_at IS NOT NULL, password_hash IS NULL, created_at, id FOR UPDATE"
        )
    ).all()
    if not scoped:
        return
    remaining = session.execute(
        sa.text(
            "SELECT count(*) FROM user_account WHERE role = 'admin' AND label_scope = '{}'::jsonb"
            " AND disabled_at IS NULL AND id NOT IN (SELECT user_id FROM user_identity)"
        )
    ).scalar_one()
    from_provider = set(session.execute(sa.text("SELECT user_id FROM user_identity")).scalars())
    session.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": AUDIT_LOCK})
    for row in scoped:
        if not remaining and row.id not in from_provider:
            remaining = 1
            session.execute(
                sa.text("UPDATE user_account SET label_scope = '{}'::jsonb WHERE id = :id"), {"id": row.id}
            )
            change: dict[str, Any] = {"label_scope": [row.label_scope, {}]}
        else:
            session.execute(sa.text("UPDATE user_account SET role = 'oncall' WHERE id = :id"), {"id": row.id})
            change = {"role": ["admin", "oncall"]}
        _record(session, row.id, {"name": row.name, "why": "an admin has no label scope", **change})


def _record(session: sa.Connection, user_id: uuid.UUID, detail: dict[str, Any]) -> None:
    """Add an entry to the audit log as `culprit.auth.audit` did when this migration was written."""
    previous = session.execute(
        sa.text("SELECT hash FROM audit_entry ORDER BY seq DESC LIMIT 1")
    ).scalar_one_or_none()
    before = bytes(previous) if previous else bytes(32)
    at = datetime.now(UTC)
    content = {
        "at": at.isoformat(timespec="microseconds"),
        "actor_id": None,
        "actor_name": "culprit",
        "action": "user.changed",
        "resource_kind": "user",
        "resource_id": str(user_id),
        "detail": detail,
        "address": None,
    }
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    session.execute(
        sa.text(
            "INSERT INTO audit_entry (id, at, actor_name, action, resource_kind, resource_id, detail, prev_hash, hash)"
            " VALUES (:id, :at, 'culprit', 'user.changed', 'user', :user_id, CAST(:detail AS jsonb), :before, :hash)"
        ),
        {
            "id": uuid.uuid4(),
            "at": at,
            "user_id": str(user_id),
            "detail": json.dumps(detail),
            "before": before,
            "hash": hashlib.sha256(before + text.encode()).digest(),
        },
    )
