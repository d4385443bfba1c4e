"""What a local PostgreSQL counts about itself: connections, rows, checkpoints, dead rows, replication."""

# ruff: noqa: E501 - a statement of the program for the host stays on one line

from __future__ import annotations

from collections.abc import Mapping

from collectors.contract import (
    Collector,
    Context,
    Cost,
    Needs,
    Option,
    Parsed,
    Part,
    Script,
    TargetAccess,
    Text,
    Tier,
    Tool,
)
from collectors.parse.tables import field_lines
from collectors.parse.tables.counters import list_counters
from collectors.parse.tables.field_lines import FieldColumn
from collectors.shell.postgres import ASK_POSTGRES

_MAX_BYTES = 1 << 20
_TABLES = (
    *(FieldColumn("database", number=False), FieldColumn("table", number=False), FieldColumn("bytes")),
    *(FieldColumn("live"), FieldColumn("dead"), FieldColumn("vacuum_age", "s", source="vacuum_s")),
)
_REPLICAS = (
    *(
        FieldColumn("name", number=False),
        FieldColumn("role", number=False),
        FieldColumn("state", number=False),
    ),
    *(
        FieldColumn("sync", number=False),
        FieldColumn("lag", "s", source="lag_s"),
        FieldColumn("behind", "bytes"),
    ),
)
_HORIZONS = (
    *(FieldColumn("kind", number=False), FieldColumn("name", number=False), FieldColumn("age")),
    FieldColumn("since", "s", source="since_s"),
)

#: Counters of one moment as `counter` lines, so that what grew during the capture is known too.
#: Columns that a release lacks are read through to_jsonb, so one statement serves PostgreSQL 10 to 17.
_COUNTERS = r"""
select concat(E'counter\twhen=', :'w', E'\tname=', k, E'\tvalue=', v) from (
  select 'connections' k, count(*)::numeric v from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()
  union all select 'idle_connections', count(*) from pg_stat_activity where backend_type = 'client backend' and state = 'idle'
  union all select 'active_connections', count(*) from pg_stat_activity where backend_type = 'client backend' and state = 'active' and pid <> pg_backend_pid()
  union all select 'sync_waiting', count(*) from pg_stat_activity where wait_event = 'SyncRep'
  union all select 'max_connections', current_setting('max_connections')::numeric
  union all select 'reserved_connections', current_setting('superuser_reserved_connections')::numeric
  union all select 'rows_scanned', (select sum(seq_tup_read) from pg_stat_user_tables)
  union all select 'rows_by_index', (select sum(idx_tup_fetch) from pg_stat_user_tables)
  union all select 'tup_returned', sum(tup_returned) from pg_stat_database
  union all select 'tup_fetched', sum(tup_fetched) from pg_stat_database
  union all select 'commits', sum(xact_commit) from pg_stat_database
  union all select 'temp_bytes', sum(temp_bytes) from pg_stat_database
  union all select 'temp_files', sum(temp_files) from pg_stat_database
  union all select 'xid_age', max(age(datfrozenxid)) from pg_database
  union all select 'sees_all_sessions', pg_has_role('pg_read_all_stats', 'member')::int
  union all (select concat('changed.', left(relname, 50)), n_tup_upd + n_tup_del from pg_stat_user_tables order by n_dead_tup desc limit 20)
  union all select c.key, c.value::numeric from pg_stat_bgwriter b, jsonb_each_text(to_jsonb(b)) c where c.key !~ 'reset'
) s where v is not null;
"""

_ONCE = r"""
select concat(E'server\tversion=', current_setting('server_version_num'), E'\tstandby=', pg_is_in_recovery()::int,
  E'\tmax_wal_mb=', (select setting::bigint from pg_settings where name = 'max_wal_size'),
  E'\tcheckpoint_timeout_s=', (select setting from pg_settings where name = 'checkpoint_timeout'));
select concat(E'table\tdatabase=', current_database(), E'\ttable=', relname, E'\tbytes=', pg_table_size(relid), E'\tlive=', n_live_tup, E'\tdead=', n_dead_tup,
  E'\tvacuum_s=', round(extract(epoch from now() - greatest(last_vacuum, last_autovacuum))::numeric))
from pg_stat_user_tables order by n_dead_tup desc limit 20;
select concat(E'horizon\tkind=session\tname=', pid, E'\tage=', greatest(age(backend_xmin), age(backend_xid)), E'\tsince_s=', round(extract(epoch from clock_timestamp() - xact_start)::numeric, 1))
from pg_stat_activity where coalesce(backend_xmin, backend_xid) is not null and pid <> pg_backend_pid() and backend_type = 'client backend'
order by greatest(age(backend_xmin), age(backend_xid)) desc limit 5;
select concat(E'horizon\tkind=prepared\tname=', gid, E'\tage=', age(transaction), E'\tsince_s=', round(extract(epoch from clock_timestamp() - prepared)::numeric, 1))
from pg_prepared_xacts order by age(transaction) desc limit 5;
select concat(E'horizon\tkind=slot\tname=', slot_name, E'\tage=', greatest(age(xmin), age(catalog_xmin)), E'\tsince_s=') from pg_replication_slots where coalesce(xmin, catalog_xmin) is not null limit 5;
select concat(E'standby\tname=', application_name, E'\trole=primary\tstate=', state, E'\tsync=', sync_state, E'\tlag_s=', round(extract(epoch from replay_lag)::numeric, 3),
  E'\tbehind=', case when pg_is_in_recovery() then null else pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn) end) from pg_stat_replication limit 20;
select concat(E'standby\tname=here\trole=standby\tstate=\tsync=\tlag_s=', case when pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() then 0
  else round(extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp())::numeric, 1) end,
  E'\tbehind=', pg_wal_lsn_diff(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn())) where pg_is_in_recovery();
"""

#: `pg_stat_user_tables` shows one database, so the largest that may be connected to is asked, by its name.
_SH = f"""
{ASK_POSTGRES}
cat > .counters <<'END'
{_COUNTERS.strip()}
END
echo "select datname from pg_database where datallowconn order by pg_database_size(oid) desc limit 1;" | ask > .name
read -r d < .name || {{ head -n 2 .err >&2; echo "no PostgreSQL answers here without a password" >&2; exit 69; }}
trap : TERM
ask start < .counters
sleep "$SECS" & wait $!
printf 'span\\tseconds=%s\\n' "$SECS"
ask end < .counters
ask once <<'END'
{_ONCE.strip()}
END
rm -f .counters .name .err
"""  # noqa: S608


def parse_postgres_stats(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Tables `postgres_counters` (value at the end, and what it grew by a second), tables, standbys, horizons."""
    tags = ("counter", "span", "server", "table", "horizon", "standby")
    matching = field_lines.read_field_lines(parts, tags, max_lines=2_000)
    if matching is None:
        return field_lines.report_missing_part()
    return field_lines.build_parsed(
        matching,
        tables=(
            *list_counters("postgres_counters", matching["counter"], matching["span"], context),
            *field_lines.build_table("postgres_tables", matching["table"], _TABLES, 50),
            *field_lines.build_table("postgres_standbys", matching["standby"], _REPLICAS, 50),
            *field_lines.build_table("postgres_horizons", matching["horizon"], _HORIZONS, 50),
        ),
        facts={
            f"postgres_{name}": line.whole(name)
            for line in matching["server"][:1]
            for name in ("version", "standby", "max_wal_mb", "checkpoint_timeout_s")
        },
    )


COLLECTOR = Collector(
    id="postgres_stats",
    title=Text("PostgreSQL counters", "PostgreSQL 计数器"),
    why=Text(
        "Connections against their limit, rows read, checkpoints, dead rows, and replication of a local PostgreSQL.",
        "本机 PostgreSQL 的连接数与上限、读取的行数、检查点、死元组与复制。",
    ),
    tier=Tier.STANDARD,
    on_demand=True,
    exclusive=True,
    methods=(
        Script(
            "psql",
            Needs(
                tools=(
                    Tool(
                        "psql",
                        package="postgresql-client",
                        packages={"rpm": "postgresql", "zypper": "postgresql", "pacman": "postgresql-libs"},
                    ),
                    "ss",
                ),
                remedy="psql, and a PostgreSQL that lets its own user in by peer identity",
            ),
            sh=_SH,
            command_line="psql: counters of pg_stat_database and pg_stat_bgwriter, read-only, before and after {seconds} s",
            version="psql --version",
            stop="TERM",
        ),
    ),
    parse=parse_postgres_stats,
    cost=Cost(0.2, 500, Text("A few read-only statements of at most 3 s.", "几条只读语句，各最多 3 秒。")),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    options=(
        Option("port", r"[1-9][0-9]{0,4}", Text("Port", "端口")),
        Option(
            "socket",
            r"(?:/[A-Za-z0-9_][A-Za-z0-9_.-]{0,60}){1,6}",
            Text("Folder of the socket", "套接字目录"),
        ),
    ),
    touches=frozenset({TargetAccess.SOCKETS}),
)
