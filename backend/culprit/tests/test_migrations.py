"""Every migration up, down and up again, on a filled database."""

from __future__ import annotations

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from culprit.infra.db.schema_version import get_head_revision
from culprit.infra.models.base import Base
from culprit.tests.conftest import alembic_config
from sqlalchemy import text
from sqlalchemy.engine import Engine

SEED = """
INSERT INTO user_account (id, name, role, label_scope, locale, created_at)
  SELECT gen_random_uuid(), 'user ' || n, 'viewer', '{}', 'en', now() FROM generate_series(1, 50) n;
INSERT INTO credential (id, name, kind, public, created_at)
  SELECT gen_random_uuid(), 'key ' || n, 'agent', '{}', now() FROM generate_series(1, 20) n;
INSERT INTO host (id, name, address, port, username, credential_id, sudo, labels, state, max_silence_s,
    allows_ptrace, created_at)
  SELECT gen_random_uuid(), 'host ' || n, '10.0.0.' || n, 22, 'root', (SELECT id FROM credential LIMIT 1),
    'none', '{"role": "feed"}', 'active', 90, false, now() FROM generate_series(1, 200) n;
INSERT INTO capture (id, plan, collectors, scope, reason, source, state, created_at)
  SELECT gen_random_uuid(), 'cpu', '[]', '{}', '', 'manual', 'done', now() FROM generate_series(1, 500) n;
INSERT INTO run (id, capture_id, host_id, state, attempt, fence, queued_at, bytes, ingest_attempts, worker_losses, host_failures)
  SELECT gen_random_uuid(), id, (SELECT id FROM host LIMIT 1), 'done', 1, 1, now(), 0, 0, 0, 0 FROM capture;
INSERT INTO event (id, run_id, t_ns, uncertainty_ns, kind, severity, title, detail)
  SELECT gen_random_uuid(), id, 1, 0, 'oom', 'warn', '{"key": "x", "params": {}}', '' FROM run;
"""
TABLES = ("user_account", "credential", "host", "capture", "run", "event")


def contents(engine: Engine) -> dict[str, str]:
    """Return a digest per table, over the columns of the first migration."""
    with engine.connect() as connection:
        return {
            table: str(
                connection.execute(
                    text(f"SELECT count(*) || md5(string_agg(id::text, ',' ORDER BY id)) FROM {table}")
                ).scalar()
            )
            for table in TABLES
        }


def tables(engine: Engine) -> set[str]:
    query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    with engine.connect() as connection:
        return set(connection.execute(text(query)).scalars())


def test_each_revision_goes_up_down_and_up_without_losing_a_row(empty: tuple[str, Engine]) -> None:
    url, engine = empty
    config = alembic_config(url)
    revisions = [revision.revision for revision in ScriptDirectory.from_config(config).walk_revisions()][::-1]
    command.upgrade(config, revisions[0])
    with engine.begin() as connection:
        connection.execute(text(SEED))
    before = contents(engine)
    for revision in revisions[1:]:  # later migrations; the first is tested below
        command.upgrade(config, revision)
        command.downgrade(config, "-1")
        assert contents(engine) == before
        command.upgrade(config, revision)
        assert contents(engine) == before
    command.downgrade(config, revisions[0])
    assert contents(engine) == before


def test_downgrade_removes_every_table_and_function(empty: tuple[str, Engine]) -> None:
    url, engine = empty
    config = alembic_config(url)
    command.upgrade(config, "head")
    command.downgrade(config, "base")
    assert tables(engine) == {"alembic_version"}
    with engine.connect() as connection:
        left = connection.execute(
            text(
                "SELECT count(*) FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace"
                " WHERE nspname = 'public'"
            )
        ).scalar()
    assert left == 0
    command.upgrade(config, "head")


def test_migrations_match_the_models(empty: tuple[str, Engine]) -> None:
    url, engine = empty
    command.upgrade(alembic_config(url), "head")
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_server_default": True})
        assert compare_metadata(context, Base.metadata) == []
        # Foreign keys and checks by name: alembic compares neither the names nor the checks.
        names = {
            str(name)
            for name in connection.execute(
                text(
                    "SELECT conname FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype <> 'n'"
                )
            ).scalars()
        }
    expected = {str(item.name) for table in Base.metadata.tables.values() for item in table.constraints}
    assert names - {"alembic_version_pkc"} == expected


def test_revisions_are_linear_and_health_reports_head() -> None:
    script = ScriptDirectory.from_config(alembic_config("postgresql://nowhere"))
    assert script.get_heads() == [get_head_revision()]
