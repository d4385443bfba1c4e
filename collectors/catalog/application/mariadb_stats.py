"""What a local MariaDB or MySQL counts about itself, and what its sessions wait for. Never the text of a statement."""

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

_MAX_BYTES = 1 << 20
_SESSIONS = (
    *(FieldColumn("id"), FieldColumn("command", number=False), FieldColumn("state", number=False)),
    *(FieldColumn("time", "s", source="time_s"), FieldColumn("verb", number=False)),
    *(FieldColumn("transaction_age", "s", source="trx_s"), FieldColumn("trx_state", number=False)),
    FieldColumn("rows_locked"),
)
_LOCKS = (FieldColumn("waiting"), FieldColumn("blocking"), FieldColumn("wait", "s", source="wait_s"))
_USERS = (FieldColumn("used"), FieldColumn("limit"))
_WAITS = (FieldColumn("sessions"), FieldColumn("state", number=False))
_REPLICAS = (
    *(
        FieldColumn("lag", "s", source="lag_s"),
        FieldColumn("io", number=False),
        FieldColumn("sql", number=False),
    ),
)
_NAMES = (
    *("threads_connected", "threads_running", "max_used_connections"),
    *(
        "aborted_connects",
        "connection_errors_max_connections",
        "handler_read_rnd_next",
        "handler_read_key",
        "handler_read_next",
        "handler_read_prev",
        "rows_sent",
        "com_select",
    ),
    *(
        "select_scan",
        "select_full_join",
        "questions",
        "uptime",
        "innodb_row_lock_waits",
        "innodb_row_lock_current_waits",
    ),
    *("innodb_row_lock_time", "innodb_log_waits", "innodb_buffer_pool_wait_free", "innodb_checkpoint_age"),
    *("innodb_checkpoint_max_age", "innodb_data_fsyncs", "created_tmp_disk_tables", "created_tmp_tables"),
)
_VARIABLES = ("max_connections", "extra_max_connections")

#: The verb is the first word of a statement, letters only: no table, no value and no comment leaves the server.
_SESSIONS_SQL = r"""
select concat('session\tid=', p.id, '\tcommand=', p.command, '\tstate=', coalesce(p.state, ''), '\ttime_s=', round(coalesce(p.time, 0), 1),
  '\tverb=', coalesce(upper(substring_index(regexp_substr(ltrim(p.info), '^[A-Za-z]+'), ' ', 1)), ''), '\ttrx_s=', coalesce(timestampdiff(second, t.trx_started, now()), ''),
  '\ttrx_state=', coalesce(t.trx_state, ''), '\trows_locked=', coalesce(t.trx_rows_locked, ''))
from information_schema.processlist p left join information_schema.innodb_trx t on t.trx_mysql_thread_id = p.id
where p.id <> connection_id() and p.command not in ('Daemon', 'Binlog Dump') order by p.command = 'Sleep', p.time desc limit 500;
"""
#: Connections of each account that has a limit of its own, without its name. The one that asks is not counted.
_USERS_SQL = r"""
select concat('user\tused=', n, '\tlimit=', m) from (
select count(distinct p.id) n, coalesce(nullif(max(u.max_user_connections), 0), @@global.max_user_connections) m
from information_schema.processlist p join mysql.user u on u.User = p.user where p.id <> connection_id() group by p.user) x
where m > 0 order by n / m desc limit 20;
"""
_LOCKS_SQL = r"""
select concat('lock\twaiting=', r.trx_mysql_thread_id, '\tblocking=', b.trx_mysql_thread_id, '\twait_s=', timestampdiff(second, r.trx_wait_started, now()))
from information_schema.innodb_lock_waits w join information_schema.innodb_trx r on r.trx_id = w.requesting_trx_id
join information_schema.innodb_trx b on b.trx_id = w.blocking_trx_id limit 500;
"""
_LOCKS_8_SQL = r"""
select concat('lock\twaiting=', r.trx_mysql_thread_id, '\tblocking=', b.trx_mysql_thread_id, '\twait_s=', timestampdiff(second, r.trx_wait_started, now()))
from performance_schema.data_lock_waits w join information_schema.innodb_trx r on r.trx_id = w.requesting_engine_transaction_id
join information_schema.innodb_trx b on b.trx_id = w.blocking_engine_transaction_id limit 500;
"""

#: Sessions that wait for a table or the whole server at one moment: locks of the server itself, which no counter has.
_WAITING_SQL = r"""
select concat('wait\tsessions=', count(*), '\tstate=', coalesce(max(state), ''))
from information_schema.processlist where state like 'Waiting for % lock' or state = 'Waiting for table flush';
"""

#: The server is asked as its own user first, which is an administrator since MariaDB 10.4, then as root without
#: capabilities: both are let in by the identity of the socket's peer. No password, no file of options and no local
#: file is ever used; each statement ends after three seconds.
_SH = f"""
LC_ALL=C
export LC_ALL
unset MYSQL_PWD MYSQL_HOST
c=$(command -v mariadb || command -v mysql) || {{ echo "no client of MariaDB" >&2; exit 69; }}
w=$(ss -Hlxp 2>/dev/null | awk -v of=" ${{TARGET_PIDS:-${{TARGET_PID-}}}} " -v folder="${{OPT_SOCKET-}}" '
  /"(mariadbd|mysqld)"/ && match($0, /pid=[0-9]+/) {{
    q = substr($0, RSTART + 4, RLENGTH - 4); s = $5
    if (s !~ /^(\\/[A-Za-z0-9_.-]+)+$/ || s ~ /mysqlx/ || (folder != "" && s != folder)) next
    if (index(of, " " q " ")) {{ print q, s; found = 1; exit }}
    if (first == "") first = q " " s }}
  END {{ if (!found && first != "") print first }}')
[ -n "$w" ] || {{ echo "no MariaDB listens on a Unix socket here" >&2; exit 69; }}
set -- $w
s=$2
o=$(awk '/^Uid:/ {{ print $3 }}' "/proc/$1/status")
g=$(awk '/^Gid:/ {{ print $3 }}' "/proc/$1/status")
me=$(id -u)
drop='--clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all'
query() {{
  set -- "$c" --no-defaults --socket="$s" --user="$r" --connect-timeout=3 --local-infile=0 -N -B -r --force
  t=$((SECS + 8))
  if [ "$me" = 0 ]; then timeout $t setpriv --reuid "$a" --regid "$b" $drop "$@" 2>.err; else timeout $t "$@" 2>.err; fi
}}
ask() {{ {{ echo "set session transaction read only; set session lock_wait_timeout=1;"; echo "set session max_statement_time=3;"; cat; }} | query; }}
r=
for t in "$o $g $(id -un "$o" 2>/dev/null)" "$me $(id -g) $(id -un)"; do
  set -- $t
  a=$1 b=$2 r=$3
  [ -n "$r" ] && [ "$(echo 'select 1;' | query)" = 1 ] && break
  r=
done
[ -n "$r" ] || {{ head -n 1 .err >&2; echo "no MariaDB answers here without a password" >&2; exit 69; }}
status() {{ echo 'show global status;' | ask | awk -F'\\t' -v when="$1" -v wanted=" {" ".join(_NAMES)} " '{{ n = tolower($1) }}
  index(wanted, " " n " ") && $2 ~ /^[0-9.]+$/ {{ printf "counter\\twhen=%s\\tname=%s\\tvalue=%s\\n", when, n, $2 }}'; }}
cat > .waiting <<'END'
{_WAITING_SQL.strip()}
END
trap : TERM
status start
while cat .waiting 2>/dev/null; do sleep 0.5 || sleep 1; done | ask &
sleep "$SECS" & wait $!
rm -f .waiting
wait
printf 'span\\tseconds=%s\\n' "$SECS"
status end
echo "show global variables where variable_name in ('max_connections', 'extra_max_connections');" | ask | awk -F'\\t' '
  {{ printf "counter\\twhen=end\\tname=%s\\tvalue=%s\\n", tolower($1), $2 }}'
ask <<'END'
{_SESSIONS_SQL.strip()}
{_USERS_SQL.strip()}
{_LOCKS_SQL.strip()}
END
[ ! -s .err ] || ask <<'END'
{_LOCKS_8_SQL.strip()}
END
echo 'show slave status\\G' | ask | awk '$1 == "Seconds_Behind_Master:" {{ l = $2 }} $1 == "Slave_IO_Running:" {{ i = $2 }} $1 == "Slave_SQL_Running:" {{ q = $2 }}
  END {{ if (i != "") printf "replica\\tlag_s=%s\\tio=%s\\tsql=%s\\n", l, i, q }}'
echo "select concat('server\\tversion=', version());" | ask
rm -f .err
"""


def parse_mariadb_stats(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Tables `mariadb_counters`, `mariadb_sessions`, `mariadb_users` (connections of accounts with a limit of their own),
    `mariadb_locks` (who waits for whom), `mariadb_waits` (sessions that wait for a table, twice a second) and
    `mariadb_replicas`.
    """
    tags = ("counter", "span", "session", "user", "lock", "wait", "replica", "server")
    matching = field_lines.read_field_lines(parts, tags, max_lines=3_000)
    if matching is None:
        return field_lines.report_missing_part()
    return field_lines.build_parsed(
        matching,
        tables=(
            *list_counters("mariadb_counters", matching["counter"], matching["span"], context),
            *field_lines.build_table("mariadb_sessions", matching["session"], _SESSIONS, 500),
            *field_lines.build_table("mariadb_users", matching["user"], _USERS, 20),
            *field_lines.build_table("mariadb_locks", matching["lock"], _LOCKS, 500),
            *field_lines.build_table("mariadb_waits", matching["wait"], _WAITS, 1_500),
            *field_lines.build_table("mariadb_replicas", matching["replica"], _REPLICAS, 10),
        ),
        facts={"mariadb_version": matching["server"][0].text("version", 60)} if matching["server"] else {},
    )


COLLECTOR = Collector(
    id="mariadb_stats",
    title=Text("MariaDB and MySQL", "MariaDB 与 MySQL"),
    why=Text(
        "What the sessions of a local MariaDB or MySQL wait for, connections against their limit, rows read, replication.",
        "本机 MariaDB 或 MySQL 的会话在等待什么、连接数与上限、读取的行数与复制。",
    ),
    tier=Tier.STANDARD,
    on_demand=True,
    exclusive=True,
    methods=(
        Script(
            "mariadb",
            Needs(
                tools=(
                    Tool(
                        "mariadb",
                        package="mariadb-client",
                        packages={"rpm": "mariadb", "pacman": "mariadb-clients"},
                    ),
                    "ss",
                    "setpriv",
                ),
                remedy="the client of MariaDB, and a server that lets its own user or root in by unix_socket",
            ),
            sh=_SH,
            command_line="mariadb --no-defaults: SHOW GLOBAL STATUS before and after {seconds} s, PROCESSLIST twice a second, INNODB_TRX, limits of accounts, read-only",
            version="mariadb --version",
            stop="TERM",
        ),
    ),
    parse=parse_mariadb_stats,
    cost=Cost(0.3, 500, Text("Read-only statements of at most 3 s.", "只读语句，各最多 3 秒。")),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    options=(
        Option(
            "socket",
            r"(?:/[A-Za-z0-9_][A-Za-z0-9_.-]{0,60}){1,6}",
            Text("Path of the socket", "套接字路径"),
        ),
    ),
    touches=frozenset({TargetAccess.SOCKETS}),
)
