"""Rules about the counters of PostgreSQL."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.database import postgres
from culprit.domain.rules.rule import AnyCondition, Condition, Rule, Threshold
from culprit.domain.rules.use_method import Use

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-PG-PRESENT",
        title=Text("PostgreSQL runs on the host", "主机上运行着 PostgreSQL"),
        summary=Text("PostgreSQL runs here ({name}).", "此处运行着 PostgreSQL（{name}）。"),
        measure=postgres.PRESENT,
        op=">=",
        thresholds=(("info", Threshold("info", 1.0, "a server that can be asked")),),
        strength=Strength.CONTEXT,
        use=Use("application", "utilization"),
        suspects=(
            *("database-connection-limit", "idle-in-transaction", "database-lock-wait", "missing-index"),
            *("checkpoint-storm", "vacuum-blocked", "transaction-id-wraparound", "replication-lag"),
            "synchronous-replica-wait",
        ),
        caveats=Text("This does not show the health of the server.", "不说明该服务是否健康。"),
        source="names of processes",
    ),
    Rule(
        id="F-PG-CONNECTIONS-FULL",
        title=Text("PostgreSQL has no free connection", "PostgreSQL 没有空闲连接"),
        summary=Text(
            "{used} of {most} connections for clients are in use ({value} %). {idle} of them are idle.",
            "面向客户端的 {most} 个连接已用 {used} 个（{value} %），其中 {idle} 个空闲。",
        ),
        measure=postgres.CONNECTIONS,
        op=">=",
        thresholds=(
            ("critical", Threshold("critical", 100.0, "the next client is refused: too many clients already")),
        ),
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
        source="pg_stat_activity; max_connections - superuser_reserved_connections",
    ),
    Rule(
        id="F-PG-SEQUENTIAL-SCANS",
        title=Text("Each transaction reads a table as a whole", "每个事务都在扫描整张表"),
        summary=Text(
            "{value} % of the rows were read by sequential scans: {each} rows for each of {done} transactions.",
            "{value} % 的行由顺序扫描读取：{done} 个事务，每个 {each} 行。",
        ),
        measure=postgres.SCAN_SHARE,
        op=">=",
        thresholds=(("warn", Threshold("warn", 99.0, "indexes took almost no part in the reads")),),
        # What is read is known, not whether an index would spare it: a count reads all rows by design.
        strength=Strength.CORRELATIONAL,
        use=Use("application", "utilization"),
        also=(
            Condition(
                postgres.SCANNED_PER_COMMIT,
                ">=",
                Threshold("rows", 10_000.0, "an index reads one row for one row; this is four orders above it"),
            ),
            Condition(postgres.COMMITS, ">=", Threshold("commits", 10.0, "a report that ran once is no pattern")),
        ),
        suspects=("missing-index",),
        causes=("missing-index",),
        refutes=("missing-index",),
        caveats=Text(
            "Reports and sums over a table read all of it by design.",
            "报表与整表汇总本就需要读取全部行。",
        ),
        source="pg_stat_user_tables: seq_tup_read and idx_tup_fetch; pg_stat_database: xact_commit",
    ),
    Rule(
        id="F-PG-CHECKPOINT-SYNC",
        title=Text("A checkpoint flushed for long", "检查点刷盘耗时很长"),
        summary=Text(
            "{count} checkpoints ended, {requested} of them because the log was full. Each spent {value} ms in fsync.",
            "完成 {count} 次检查点，其中 {requested} 次因日志写满；每次 fsync 耗时 {value} ms。",
        ),
        measure=postgres.SYNC_MS,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 1000.0, "after one second users lose their flow of thought")),
        ),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        suspects=("checkpoint-storm",),
        causes=("checkpoint-storm",),
        refutes=(),
        caveats=Text(
            "A checkpoint that is longer than the capture is not counted until it ends.",
            "比采集更长的检查点在结束前不会计入。",
        ),
        source="pg_stat_bgwriter: checkpoint_sync_time. Limits of attention: R. B. Miller, 1968",
    ),
    Rule(
        id="F-PG-CHECKPOINTS-FLUSH",
        title=Text("One checkpoint follows another, and each flushes", "检查点接连发生并不断刷盘"),
        summary=Text(
            "Checkpoints that a full log forced spent {value} % of the time in fsync.",
            "因日志写满而触发的检查点有 {value} % 的时间在执行 fsync。",
        ),
        measure=postgres.SYNC_SHARE,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 10.0, "every tenth commit meets it")),
            ("critical", Threshold("critical", 50.0, "most commits meet it")),
        ),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        also=(
            Condition(
                postgres.REQUESTED,
                ">",
                Threshold("often", 1 / 30, "checkpoint_warning: PostgreSQL logs checkpoints closer than 30 s"),
            ),
        ),
        suspects=("checkpoint-storm",),
        causes=("checkpoint-storm",),
        caveats=Text(
            "A CHECKPOINT or a backup that a person started counts too.", "人工执行的 CHECKPOINT 或备份也会计入。"
        ),
        source="pg_stat_bgwriter: checkpoint_sync_time, checkpoints_req",
    ),
    Rule(
        id="F-PG-CHECKPOINTS-REQUESTED",
        title=Text("The write-ahead log forces checkpoints", "预写日志写满触发检查点"),
        summary=Text(
            "{value} checkpoints per second began because max_wal_size was reached.",
            "每秒 {value} 次检查点因达到 max_wal_size 而触发。",
        ),
        measure=postgres.REQUESTED,
        op=">",
        thresholds=(
            (
                "warn",
                Threshold("warn", 1 / 30, "checkpoint_warning: PostgreSQL logs checkpoints closer than 30 s"),
            ),
        ),
        strength=Strength.CORRELATIONAL,
        use=Use("application", "saturation"),
        suspects=("checkpoint-storm",),
        causes=("checkpoint-storm",),
        caveats=Text(
            "A CHECKPOINT or a backup that a person started counts too. In a short capture one is enough.",
            "人工执行的 CHECKPOINT 或备份也会计入；短采集中一次即可满足。",
        ),
        source="pg_stat_bgwriter: checkpoints_req",
    ),
    Rule(
        id="F-PG-DEAD-ROWS",
        title=Text("Vacuum cannot remove dead rows", "VACUUM 无法清除死元组"),
        summary=Text(
            "Table {table} has {dead} dead rows and {live} live ones ({value} %), and vacuum does not remove them.",
            "表 {table} 有 {dead} 个死元组、{live} 个活元组（{value} %），且 VACUUM 未能清除。",
        ),
        measure=postgres.DEAD_ROWS,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 100.0, "a scan reads twice as many rows as it returns")),
        ),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        also=(
            AnyCondition(
                (
                    Condition(
                        postgres.HORIZON_S,
                        ">=",
                        Threshold(
                            "snapshot",
                            postgres.NAPTIME_S,
                            "autovacuum_naptime: autovacuum has had its turn",
                        ),
                    ),
                    Condition(
                        postgres.LEFT_BY_VACUUM,
                        ">=",
                        Threshold("left", 100.0, "as many as live rows, although a vacuum has ended"),
                    ),
                )
            ),
        ),
        suspects=("vacuum-blocked",),
        causes=("vacuum-blocked",),
        refutes=("vacuum-blocked",),
        caveats=Text(
            "Just after a large change, dead rows are normal until autovacuum has run.",
            "大批量修改之后、autovacuum 运行之前出现死元组是正常的。",
        ),
        source="pg_stat_user_tables: n_dead_tup, last_autovacuum; pg_stat_activity: backend_xmin, backend_xid",
    ),
    Rule(
        id="F-PG-WRAPAROUND",
        title=Text("Transaction IDs are running out", "事务 ID 即将耗尽"),
        summary=Text(
            "The oldest transaction ID is {value} transactions old.",
            "最老的事务 ID 已有 {value} 个事务的年龄。",
        ),
        measure=postgres.XID_AGE,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 1_600_000_000.0, "vacuum_failsafe_age: vacuum stops sparing resources")),
            (
                "critical",
                Threshold("critical", 2_107_483_648.0, "40 million before the end PostgreSQL warns each client"),
            ),
        ),
        strength=Strength.DIRECT,
        use=Use("application", "saturation"),
        suspects=("transaction-id-wraparound",),
        causes=("transaction-id-wraparound",),
        refutes=("transaction-id-wraparound",),
        harm=True,
        caveats=Text(
            "The server still works until the last three million transactions.",
            "在最后三百万个事务之前，服务仍可工作。",
        ),
        source="PostgreSQL documentation, 25.1.5: age(datfrozenxid)",
    ),
    Rule(
        id="F-PG-STANDBY-LAG",
        title=Text("A standby is behind", "备库落后"),
        summary=Text("Standby {name} is {value} s behind.", "备库 {name} 落后 {value} 秒。"),
        measure=postgres.REPLICA_LAG,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 10.0, "ten seconds is the limit of attention of a reader")),
            ("critical", Threshold("critical", 300.0, "checkpoint_timeout: one whole checkpoint behind")),
        ),
        strength=Strength.DIRECT,
        use=Use("application", "saturation"),
        suspects=("replication-lag",),
        causes=("replication-lag",),
        refutes=("replication-lag",),
        caveats=Text(
            "A standby with recovery_min_apply_delay is behind by design.",
            "设置了 recovery_min_apply_delay 的备库本就落后。",
        ),
        source="pg_stat_replication: replay_lag; pg_last_xact_replay_timestamp()",
    ),
    Rule(
        id="F-PG-COMMIT-WAITS",
        title=Text("Commits wait for a standby", "提交在等待备库确认"),
        summary=Text(
            "{count} sessions wait for a standby to confirm their commit, one of them for {value} s.",
            "{count} 个会话在等待备库确认提交，最久 {value} 秒。",
        ),
        measure=postgres.COMMIT_WAIT,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 1.0, "deadlock_timeout: a wait that PostgreSQL itself finds long")),
        ),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        suspects=("synchronous-replica-wait",),
        causes=("synchronous-replica-wait",),
        refutes=("synchronous-replica-wait",),
        harm=True,
        caveats=Text("This is a single sample.", "这只是一次采样。"),
        source="pg_stat_activity: wait_event SyncRep",
    ),
)  # fmt: skip
