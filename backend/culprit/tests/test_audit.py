"""Changes of the audit log are detected."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from culprit.accounts import audit
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.accounts.audit_entry import AuditEntry
from sqlalchemy import select, text
from sqlalchemy.exc import DBAPIError

LOOSE = "ALTER TABLE audit_entry DISABLE TRIGGER audit_entry_append_only"


def write(db: Database, count: int) -> None:
    for n in range(count):
        with unit_of_work(db.sessions) as session:
            audit.record_action(session, None, "test.done", "thing", str(n), n=n, share=0.25, name="a\0b")


def verdict(db: Database) -> audit.AuditChainCheck:
    with db.sessions() as session:
        return audit.verify_chain(session)


def test_an_honest_chain_holds(db: Database) -> None:
    write(db, 5)
    result = verdict(db)
    assert result.entries == 5 and result.broken_at is None and len(result.head) == 64


def test_the_database_itself_refuses_changes(db: Database) -> None:
    write(db, 1)
    for statement in (
        "UPDATE audit_entry SET action = 'x'",
        "DELETE FROM audit_entry",
        "TRUNCATE audit_entry",
    ):
        with pytest.raises(DBAPIError, match="append-only"), db.engine.begin() as connection:
            connection.execute(text(statement))


def test_batched_entries_are_appended_together_in_order(db: Database) -> None:
    write(db, 2)
    with unit_of_work(db.sessions) as session:
        with audit.batch_entries(session):
            for n in range(30):
                audit.record_action(
                    session, None, "test.done", "thing", str(n), address=None if n % 3 else "::1"
                )
        audit.record_action(session, None, "test.done", "thing", "30")
    with pytest.raises(RuntimeError), unit_of_work(db.sessions) as session, audit.batch_entries(session):
        audit.record_action(session, None, "test.done", "thing", "lost")
        raise RuntimeError
    write(db, 1)
    assert verdict(db).entries == 34 and verdict(db).broken_at is None
    with db.sessions() as session:
        stored_session = session.scalars(select(AuditEntry.resource_id).order_by(AuditEntry.seq)).all()
    assert stored_session == ["0", "1", *map(str, range(31)), "0"]


@pytest.mark.parametrize(
    "tamper",
    [
        "UPDATE audit_entry SET actor_name = 'mallory' WHERE seq = 3",
        "UPDATE audit_entry SET detail = detail || '{\"n\": 99}' WHERE seq = 3",
        "UPDATE audit_entry SET at = at - interval '1 microsecond' WHERE seq = 3",
        "UPDATE audit_entry SET address = '203.0.113.9' WHERE seq = 3",
        "UPDATE audit_entry SET prev_hash = hash WHERE seq = 3",
        "UPDATE audit_entry SET hash = sha256(hash) WHERE seq = 3",
        "DELETE FROM audit_entry WHERE seq = 3",
        "UPDATE audit_entry SET seq = CASE seq WHEN 3 THEN 1004 ELSE 1003 END WHERE seq IN (3, 4)",
    ],
)
def test_verify_chain_detects_edit_gap_and_swap(db: Database, tamper: str) -> None:
    write(db, 6)
    with db.engine.begin() as connection:
        connection.execute(text(LOOSE))
        connection.execute(text(tamper))
    result = verdict(db)
    assert result.broken_at is not None and result.broken_at >= 3


def test_a_cut_end_changes_the_head(db: Database) -> None:
    write(db, 4)
    before = verdict(db)
    with db.engine.begin() as connection:
        connection.execute(text(LOOSE))
        connection.execute(text("DELETE FROM audit_entry WHERE seq = 4"))
    after = verdict(db)
    assert after.broken_at is None and after.head != before.head


def test_concurrent_writers_append_to_a_single_chain(db: Database) -> None:
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda _: write(db, 5), range(6)))
    result = verdict(db)
    assert result.entries == 30 and result.broken_at is None


def test_what_is_rolled_back_was_not_done(db: Database) -> None:
    with pytest.raises(RuntimeError), unit_of_work(db.sessions) as session:
        audit.record_action(session, None, "test.undone", "thing", "1")
        raise RuntimeError
    write(db, 2)
    assert verdict(db) == audit.AuditChainCheck(2, verdict(db).head, None)


def test_it_is_read_by_admins_with_its_head(as_, db: Database) -> None:
    write(db, 3)
    assert as_("oncall").get("/api/v1/audit").status_code == 403
    page = as_("admin").get("/api/v1/audit", params={"limit": 2}).json()
    assert [item["seq"] for item in page["items"]] == [3, 2]
    assert page["head"] == verdict(db).head == page["items"][0]["hash"]
    rest = as_("admin").get("/api/v1/audit", params={"limit": 2, "cursor": page["next"]}).json()
    assert [item["seq"] for item in rest["items"]] == [1] and rest["next"] is None
    assert as_("admin").get("/api/v1/audit/chain").json()["broken_at"] is None
