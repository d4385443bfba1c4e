"""Rules about the sessions and counters of MariaDB and MySQL."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Severity, Strength
from culprit.domain.rules.measures.database import mariadb
from culprit.domain.rules.rule import Condition, Rule, Threshold
from culprit.domain.rules.use_method import Use

_WAITS: tuple[tuple[Severity, Threshold], ...] = (
    ("warn", Threshold("warn", 1.0, "the same second after which PostgreSQL logs a wait for a lock")),
    ("critical", Threshold("critical", 10.0, "beyond the typical timeouts of clients")),
)

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-MARIADB-PRESENT",
        title=Text("MariaDB or MySQL runs on the host", "主机上运行着 MariaDB 或 MySQL"),
        summary=Text("MariaDB or MySQL runs here ({name}).", "此处运行着 MariaDB 或 MySQL（{name}）。"),
        measure=mariadb.PRESENT,
        op=">=",
        thresholds=(("info", Threshold("info", 1.0, "a server that can be asked")),),
        strength=Strength.CONTEXT,
        use=Use("application", "utilization"),
        suspects=(
            *("database-connection-limit", "idle-in-transaction", "database-lock-wait", "missing-index"),
            *("checkpoint-storm", "replication-lag"),
        ),
        caveats=Text("This does not show the health of the server.", "不说明该服务是否健康。"),
        source="names of processes",
    ),
    Rule(
        id="F-MARIADB-LOCK-WAIT",
        title=Text("Sessions of MariaDB wait for each other's rows", "MariaDB 会话互相等待行锁"),
        summary=Text(
            "{sessions} sessions wait for locked rows, one of them for {value} s. Session {head} is first "
            "in the queue.",
            "{sessions} 个会话在等待行锁，最久 {value} 秒；队首为会话 {head}。",
        ),
        measure=mariadb.LOCK_WAIT,
        op=">=",
        thresholds=_WAITS,
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        suspects=("database-lock-wait",),
        causes=("database-lock-wait",),
        refutes=("database-lock-wait",),
        harm=True,
        caveats=Text(
            "This is a single sample, and waits are known in whole seconds.",
            "这只是一次采样，且等待时间以整秒计。",
        ),
        source="information_schema: INNODB_LOCK_WAITS and INNODB_TRX",
    ),
    Rule(
        id="F-MARIADB-LOCK-TIME",
        title=Text("Sessions of MariaDB always wait for each other's rows", "MariaDB 会话一直在互相等待行锁"),
        summary=Text(
            "At any time, {value} sessions wait for locked rows, {mean_ms} ms each, {per_s} times a second.",
            "任意时刻有 {value} 个会话在等待行锁，每次 {mean_ms} ms，每秒 {per_s} 次。",
        ),
        measure=mariadb.LOCK_TIME,
        op=">=",
        thresholds=(("warn", Threshold("waiting", 1.0, "at any time one session waits")),),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        also=(
            Condition(
                mariadb.MEAN_LOCK_WAIT,
                ">=",
                Threshold("wait", 100.0, "milliseconds: users notice a tenth of a second (Miller 1968)"),
            ),
        ),
        suspects=("database-lock-wait",),
        causes=("database-lock-wait",),
        harm=True,
        caveats=Text("A wait counts when it ends.", "等待在结束时才计入。"),
        source="SHOW GLOBAL STATUS: Innodb_row_lock_time and Innodb_row_lock_waits, twice; Little's law",
    ),
    Rule(
        id="F-MARIADB-METADATA-WAIT",
        title=Text("Sessions of MariaDB wait for the lock of a table", "MariaDB 会话在等待表锁或元数据锁"),
        summary=Text(
            "{count} sessions wait for a lock of a table, its definition or all tables, one of them ({name}) for "
            "{value} s.",
            "{count} 个会话在等待表锁、元数据锁或全局锁，最久的（{name}）已 {value} 秒。",
        ),
        measure=mariadb.METADATA_WAIT,
        op=">=",
        thresholds=_WAITS,
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        suspects=("database-lock-wait",),
        causes=("database-lock-wait",),
        harm=True,
        caveats=Text(
            "The holder is not listed without the plugin METADATA_LOCK_INFO: find the oldest open transaction.",
            "未安装 METADATA_LOCK_INFO 插件时看不到持有者：请查找最早开启的事务。",
        ),
        source="information_schema.PROCESSLIST: STATE",
    ),
    Rule(
        id="F-MARIADB-TABLE-LOCK-TIME",
        title=Text("Sessions of MariaDB always wait for tables", "MariaDB 会话一直在等待表"),
        summary=Text(
            "At any time, {value} sessions wait for a table, up to {most} at once ({state}).",
            "任意时刻有 {value} 个会话在等待表，最多同时 {most} 个（{state}）。",
        ),
        measure=mariadb.TABLE_WAITERS,
        op=">=",
        thresholds=(("warn", Threshold("waiting", 1.0, "at any time one session waits")),),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        also=(
            Condition(
                mariadb.MOST_TABLE_WAITERS,
                ">=",
                Threshold("most", 2.0, "a session that waits alone keeps no other from its work"),
            ),
        ),
        suspects=("database-lock-wait",),
        causes=("database-lock-wait",),
        harm=True,
        caveats=Text(
            "The holder may have changed between two samples: see which statement lasts, or takes LOCK TABLES.",
            "两次采样之间持有者可能已变：请查看哪条语句耗时长，或使用了 LOCK TABLES。",
        ),
        source="PROCESSLIST twice a second: STATE (mdl.cc, thr_lock.c); Little's law",
    ),
    Rule(
        id="F-MARIADB-IDLE-BLOCKER",
        title=Text(
            "An idle transaction of MariaDB holds rows that others wait for",
            "MariaDB 空闲事务持有他人等待的行",
        ),
        summary=Text(
            "Session {session} has sent nothing for {value} s within its transaction, and {waiting} "
            "sessions wait for it.",
            "会话 {session} 在事务中已 {value} 秒未发送任何内容，{waiting} 个会话在等待它。",
        ),
        measure=mariadb.IDLE_BLOCKER,
        op=">=",
        thresholds=(("critical", _WAITS[0][1]),),
        strength=Strength.DIRECT,
        use=Use("application", "errors"),
        suspects=("idle-in-transaction",),
        causes=("idle-in-transaction",),
        refutes=("idle-in-transaction",),
        harm=True,
        caveats=Text(
            "The client may be busy with its own work between two statements.",
            "客户端可能正忙于两条语句之间自身的工作。",
        ),
        source="information_schema: PROCESSLIST, INNODB_TRX and INNODB_LOCK_WAITS",
    ),
    Rule(
        id="F-MARIADB-CONNECTIONS-FULL",
        title=Text("MariaDB has no free connection", "MariaDB 没有空闲连接"),
        summary=Text(
            "{used} of {most} connections are in use ({value} %). {idle} of them are idle.",
            "{most} 个连接已用 {used} 个（{value} %），其中 {idle} 个空闲。",
        ),
        measure=mariadb.CONNECTIONS,
        op=">=",
        thresholds=(("critical", Threshold("critical", 100.0, "the next client is refused: error 1040")),),
        strength=Strength.DIRECT,
        use=Use("application", "saturation"),
        suspects=("database-connection-limit",),
        causes=("database-connection-limit",),
        refutes=("database-connection-limit",),
        harm=True,
        caveats=Text(
            "A pooler in front of the server may queue clients before this limit is reached.",
            "前置的连接池可能在达到上限前就让客户端排队。",
        ),
        source="SHOW GLOBAL STATUS: Threads_connected; max_connections",
    ),
    Rule(
        id="F-MARIADB-USER-FULL",
        title=Text("An account of MariaDB has no free connection", "MariaDB 账户没有空闲连接"),
        summary=Text(
            "An account has {used} of its {most} connections ({value} %), and connections are refused.",
            "某账户已用 {used} 个连接，上限 {most} 个（{value} %），且有连接被拒绝。",
        ),
        measure=mariadb.USER_CONNECTIONS,
        op=">=",
        thresholds=(
            ("critical", Threshold("critical", 90.0, "one reading: connections end and begin before and after it")),
        ),
        also=(
            Condition(mariadb.REFUSED, ">=", Threshold("refused", 1.0, "a client was refused during the reading")),
        ),
        strength=Strength.DIRECT,
        use=Use("application", "saturation"),
        suspects=("database-connection-limit",),
        causes=("database-connection-limit",),
        harm=True,
        caveats=Text(
            "Connections are refused for a wrong password and by health checks, too.",
            "密码错误与健康检查也会产生被拒绝的连接。",
        ),
        source="max_user_connections of the server and of the account; SHOW GLOBAL STATUS: Aborted_connects",
    ),
    Rule(
        id="F-MARIADB-ABOVE-LIMIT",
        title=Text("MariaDB refuses connections above its limit", "MariaDB 拒绝超过上限的连接"),
        summary=Text(
            "{value} connections were refused during the capture: max_connections was reached.",
            "采集期间有 {value} 个连接因达到 max_connections 被拒绝。",
        ),
        measure=mariadb.ABOVE_LIMIT,
        op=">=",
        thresholds=(("critical", Threshold("critical", 1.0, "the server counts each that it refuses: error 1040")),),
        strength=Strength.DIRECT,
        use=Use("application", "saturation"),
        suspects=("database-connection-limit",),
        causes=("database-connection-limit",),
        harm=True,
        caveats=Text(
            "Connections that come and go can leave some free at the moment of a reading.",
            "连接频繁建立与断开时，读数瞬间可能仍有空闲。",
        ),
        source="SHOW GLOBAL STATUS: Connection_errors_max_connections",
    ),
    Rule(
        id="F-MARIADB-ROWS-READ",
        title=Text("Queries of MariaDB read far more rows than they return", "MariaDB 查询读取的行远多于返回的行"),
        summary=Text(
            "Scans of tables and indexes read {value} rows for each row that is sent.",
            "每返回一行，对表与索引的扫描读取了 {value} 行。",
        ),
        measure=mariadb.ROWS_PER_ROW,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 1000.0, "an index reads one row for one row; this is three orders above it")),
        ),
        # As F-PG-SEQUENTIAL-SCANS: a count reads all rows and sends one.
        strength=Strength.CORRELATIONAL,
        use=Use("application", "utilization"),
        also=(
            Condition(
                mariadb.ROWS_PER_SELECT,
                ">=",
                Threshold("rows", 10_000.0, "a table of a few pages is cheaper to scan than to look up"),
            ),
            Condition(mariadb.SCANS, ">=", Threshold("scans", 10.0, "a report that ran once is no pattern")),
        ),
        suspects=("missing-index",),
        causes=("missing-index",),
        refutes=("missing-index",),
        caveats=Text(
            "Sums and counts over a table read all of it by design.",
            "整表的汇总与计数本就需要读取全部行。",
        ),
        source="SHOW GLOBAL STATUS: Handler_read_rnd_next, Handler_read_next, Handler_read_prev, Rows_sent, "
        "Com_select, Select_scan",
    ),
    Rule(
        id="F-MARIADB-REPLICA-SCANS",
        title=Text("A replica scans a table for each row that it changes", "副本为每个要修改的行扫描整表"),
        summary=Text(
            "{value} replica threads search a table for the row to change ({state}).",
            "{value} 个复制线程正在表中查找要修改的行（{state}）。",
        ),
        measure=mariadb.REPLICA_SCANS,
        op=">=",
        thresholds=(("warn", Threshold("warn", 1.0, "a row that a key leads to is found at once")),),
        strength=Strength.MECHANISM,
        use=Use("application", "utilization"),
        also=(
            Condition(
                mariadb.ROWS_PER_ROW,
                ">=",
                Threshold("rows", 1000.0, "three orders above a row that an index leads to"),
            ),
        ),
        suspects=("missing-index", "replication-lag"),
        causes=("missing-index",),
        caveats=Text("The state is a single sample.", "该状态只是一次采样。"),
        source="PROCESSLIST: find_row() of row events; a table without a key is searched from its start for each row",
    ),
    Rule(
        id="F-MARIADB-CHECKPOINT-AGE",
        title=Text("The redo log of MariaDB is almost full", "MariaDB 重做日志即将写满"),
        summary=Text(
            "{value} % of the redo log waits for a checkpoint. At 100 % each write waits for pages to be flushed.",
            "重做日志的 {value} % 尚未做检查点；达到 100 % 时每次写入都要等待刷页。",
        ),
        measure=mariadb.CHECKPOINT_AGE,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 87.5, "InnoDB: asynchronous flushing is forced from 7/8 of the log on")),
        ),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        suspects=("checkpoint-storm",),
        causes=("checkpoint-storm",),
        refutes=("checkpoint-storm",),
        caveats=Text("This is a single sample.", "这只是一次采样。"),
        source="SHOW GLOBAL STATUS: Innodb_checkpoint_age and Innodb_checkpoint_max_age",
    ),
    Rule(
        id="F-MARIADB-REPLICA-LAG",
        title=Text("This replica is behind", "本副本落后"),
        summary=Text("The replica is {value} s behind its primary.", "副本落后主库 {value} 秒。"),
        measure=mariadb.REPLICA_LAG,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 10.0, "ten seconds is the limit of attention of a reader")),
        ),
        strength=Strength.DIRECT,
        use=Use("application", "saturation"),
        suspects=("replication-lag",),
        causes=("replication-lag",),
        refutes=("replication-lag",),
        caveats=Text(
            "A replica with MASTER_DELAY is behind by design.",
            "设置了 MASTER_DELAY 的副本本就落后。",
        ),
        source="SHOW SLAVE STATUS: Seconds_Behind_Master",
    ),
    Rule(
        id="F-MARIADB-REPLICA-STOPPED",
        title=Text("This replica receives or applies no changes", "本副本未接收或未应用变更"),
        summary=Text(
            "{value} replicas are stopped (receives: {io}, applies: {sql}): each lacks all that was written since.",
            "{value} 个复制已停止（接收：{io}，应用：{sql}），落后于停止后的全部写入。",
        ),
        measure=mariadb.STOPPED_REPLICAS,
        op=">=",
        thresholds=(("warn", Threshold("warn", 1.0, "without its threads, a replica does not change at all")),),
        strength=Strength.DIRECT,
        use=Use("application", "errors"),
        suspects=("replication-lag",),
        causes=("replication-lag",),
        caveats=Text("A backup of a replica stops it on purpose.", "备份副本时会有意停止复制。"),
        source="SHOW SLAVE STATUS: Slave_IO_Running, Slave_SQL_Running; Seconds_Behind_Master is NULL then",
    ),
)  # fmt: skip
