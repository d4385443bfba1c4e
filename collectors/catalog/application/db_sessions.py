"""What the sessions of a local PostgreSQL wait for, and which statements take its time."""

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
from collectors.parse.tables.field_lines import FieldColumn
from collectors.shell.postgres import ASK_POSTGRES

_MAX_BYTES = 1 << 20
_SESSIONS = (
    *(FieldColumn("pid"), FieldColumn("state", number=False), FieldColumn("wait_type", number=False)),
    *(FieldColumn("wait_event", number=False), FieldColumn("state_age", "s", source="state_s")),
    *(FieldColumn("transaction_age", "s", source="xact_s"), FieldColumn("blocked_by", number=False)),
    *(FieldColumn("backend", number=False), FieldColumn("query", number=False)),
)
_STATEMENTS = (
    *(
        FieldColumn("calls"),
        FieldColumn("total", "ms", source="total_ms"),
        FieldColumn("mean", "ms", source="mean_ms"),
    ),
    *(
        FieldColumn("max", "ms", source="max_ms"),
        FieldColumn("rows"),
        FieldColumn("blocks_read"),
        FieldColumn("query", number=False),
    ),
)

#: Literals become $n inside the server, so they never reach this script: comments and strings first, then
#: numbers; a quote that is left over (an unfinished or oddly escaped string) ends the text.
_CLEAN = r"""regexp_replace(regexp_replace(split_part(regexp_replace(regexp_replace(regexp_replace(
  left(query, 2000), '/\*.*?\*/|--[^\n]*', ' ', 'g'), '\$(\w*)\$.*?(\$\1\$|$)', '$n', 'g'), E'(\'([^\'\\\\]|\\\\.|\'\')*\')', '$n', 'g'),
  '''', 1), '\$?\m\d[\w.]*', '$n', 'g'), '[\s=]+', ' ', 'g')"""

#: The statements hold nothing from outside: `_CLEAN` is the constant above.
_SH = f"""
{ASK_POSTGRES}
cat > .sql <<'END'
select concat(E'session\\tpid=', pid, E'\\tstate=', state, E'\\twait_type=', wait_event_type, E'\\twait_event=', wait_event,
  E'\\tstate_s=', round(extract(epoch from clock_timestamp() - state_change)::numeric, 1),
  E'\\txact_s=', round(extract(epoch from clock_timestamp() - xact_start)::numeric, 1),
  E'\\tblocked_by=', array_to_string(pg_blocking_pids(pid), ' '), E'\\tbackend=', backend_type,
  E'\\tquery=', left({_CLEAN}, 200))
from pg_stat_activity where pid <> pg_backend_pid() and (state is not null or wait_event_type <> 'Activity')
order by state <> 'idle' desc, xact_start nulls last limit 500;
select concat(E'server\\tversion=', current_setting('server_version_num'), E'\\tmax_connections=', current_setting('max_connections'),
  E'\\tconnections=', (select count(*) from pg_stat_activity where backend_type = 'client backend'));
END
cat > .statements <<'END'
select concat(E'statement\\tcalls=', calls, E'\\ttotal_ms=', round(total_exec_time::numeric, 3), E'\\tmean_ms=', round(mean_exec_time::numeric, 3),
  E'\\tmax_ms=', round(max_exec_time::numeric, 3), E'\\trows=', rows, E'\\tblocks_read=', shared_blks_read, E'\\tquery=', left({_CLEAN}, 200))
from pg_stat_statements order by total_exec_time desc limit 50;
END
trap : TERM
sleep "$SECS" & wait $!
ask < .sql > .out
grep -q '^server' .out || {{ head -n 2 .err >&2; echo "no PostgreSQL answers here without a password" >&2; exit 69; }}
cat .out
ask < .statements || :
rm -f .sql .statements .out .err
"""  # noqa: S608


def parse_db_sessions(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Tables `db_sessions` (one look at pg_stat_activity) and `db_statements` (pg_stat_statements, if there)."""
    del context
    matching_field_lines = field_lines.read_field_lines(
        parts, ("session", "server", "statement"), max_lines=2_000
    )
    if matching_field_lines is None:
        return field_lines.report_missing_part()
    names = ("version", "connections", "max_connections")
    return field_lines.build_parsed(
        matching_field_lines,
        tables=(
            *field_lines.build_table("db_sessions", matching_field_lines["session"], _SESSIONS),
            *field_lines.build_table("db_statements", matching_field_lines["statement"], _STATEMENTS),
        ),
        facts={
            f"postgres_{name}": line.whole(name)
            for line in matching_field_lines["server"][:1]
            for name in names
        },
    )


COLLECTOR = Collector(
    id="db_sessions",
    title=Text("Database sessions", "数据库会话"),
    why=Text(
        "Which sessions wait, for what and for whom, and which statements take the time.",
        "哪些会话在等待、等待什么、被谁阻塞，以及哪些语句最耗时。",
    ),
    tier=Tier.LIGHT,
    on_demand=True,
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
                remedy="psql, and a PostgreSQL that lets the user in by peer identity",
            ),
            sh=_SH,
            command_line="psql: pg_stat_activity and pg_stat_statements, read-only, after {seconds} s",
            version="psql --version",
            stop="TERM",
        ),
    ),
    parse=parse_db_sessions,
    cost=Cost(0.1, 200, Text("Two read-only statements of at most 3 s.", "两条只读语句，各最多 3 秒。")),
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
