"""Causes related to limits, reads, checkpoints and replication of databases."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.cause import Cause

#: What a database that answers late makes of the programs in front of it.
_IN_FRONT = ("slow-dependency", "connection-pool-exhausted", "worker-pool-exhausted", "listen-queue-overflow")

CAUSES: tuple[Cause, ...] = (
    Cause(
        id="database-connection-limit",
        title=Text("The database accepts no more connections", "数据库连接数已达上限"),
        what=Text(
            "All connections that the database allows are in use. It refuses further clients, or they wait "
            "in a pool.",
            "数据库允许的连接已全部占用，后续客户端被拒绝，或在连接池中等待。",
        ),
        fix=Text(
            "See which program holds the connections and whether they are idle. Lower the sizes of its pools, or put "
            "a pooler in front (PgBouncer, ProxySQL). Raise max_connections only if memory allows it.",
            "查明哪个程序占用连接、是否空闲；缩小其连接池，或在前面放置连接池（PgBouncer、ProxySQL）；"
            "内存允许时才调高 max_connections。",
        ),
        risk=Text(
            "Each connection uses memory, and max_connections of PostgreSQL needs a restart. A smaller pool makes "
            "requests wait. Rollback: restore the old sizes.",
            "每个连接都占用内存，PostgreSQL 修改 max_connections 需重启；更小的池会让请求等待。回退：恢复原大小。",
        ),
        verify=Text(
            "Capture again under the same load: fewer than 80 % of the connections are in use, and none is refused.",
            "相同负载下再次采集：连接使用率低于 80 %，且没有被拒绝的连接。",
        ),
        explains=("connection-pool-exhausted", "worker-pool-exhausted", "listen-queue-overflow"),
        tested_by=("postgres_stats", "mariadb_stats", "server_logs"),
        proven_by=(
            "mariadb-max-connections",
            "postgres-max-connections",
        ),
    ),
    Cause(
        id="missing-index",
        title=Text("Queries scan tables because an index is missing", "缺少索引导致全表扫描"),
        what=Text(
            "Each of many small queries reads a whole table to find a few rows. CPU and reads grow with the table.",
            "大量小查询为找到几行而读取整张表，CPU 与读取量随表增长。",
        ),
        fix=Text(
            "Find the query (pg_stat_statements, slow log), check its plan with EXPLAIN, and add the index for its "
            "conditions. Check that a type conversion or a function does not hide an existing index.",
            "找到该查询（pg_stat_statements、慢日志），用 EXPLAIN 查看计划，为其条件添加索引；"
            "确认类型转换或函数没有使现有索引失效。",
        ),
        risk=Text(
            "An index costs writes and disk space. Building it locks the table unless CONCURRENTLY or "
            "ALGORITHM=INPLACE "
            "is used. Rollback: drop the index.",
            "索引会增加写入与磁盘开销；不用 CONCURRENTLY 或 ALGORITHM=INPLACE 创建会锁表。回退：删除该索引。",
        ),
        verify=Text(
            "Capture again under the same load: rows read for each row returned are lower by orders of magnitude.",
            "相同负载下再次采集：每返回一行所读取的行数下降数个量级。",
        ),
        mechanisms=("running", "disk"),
        explains=(
            *("database-hot-sql", "cpu-exhausted", "cpu-hot-function", "disk-saturation"),
            *("database-connection-limit", "replication-lag", *_IN_FRONT),
        ),
        tested_by=("postgres_stats", "mariadb_stats"),
        proven_by=("wholesale-baskets",),
    ),
    Cause(
        id="checkpoint-storm",
        title=Text("Checkpoints of the database flood the disk", "数据库检查点造成写入风暴"),
        what=Text(
            "The log of changes fills faster than pages are written. The database then writes and flushes "
            "many pages at "
            "once, and commits wait for the same disk.",
            "变更日志写满的速度快于刷页速度，数据库随后一次性写入并刷出大量页面，提交在同一磁盘上等待。",
        ),
        fix=Text(
            "Enlarge max_wal_size (PostgreSQL) or innodb_log_file_size, and spread checkpoints "
            "(checkpoint_completion_target = 0.9). Put the log on a device of its own.",
            "增大 max_wal_size（PostgreSQL）或 innodb_log_file_size，并分散检查点（"
            "checkpoint_completion_target = 0.9）；将日志放到独立设备。",
        ),
        risk=Text(
            "A larger log uses disk space and makes recovery after a crash longer. Rollback: restore the old size.",
            "更大的日志占用磁盘并延长崩溃恢复时间。回退：恢复原大小。",
        ),
        verify=Text(
            "Capture again under the same load: checkpoints begin by time only, and none spends a second in fsync.",
            "相同负载下再次采集：检查点仅按时间触发，且 fsync 不超过一秒。",
        ),
        mechanisms=("disk",),
        explains=("disk-saturation", "dstate-pileup", "sync-write-amplification", *_IN_FRONT),
        tested_by=("postgres_stats", "mariadb_stats"),
        proven_by=("postgres-checkpoint-storm",),
    ),
    Cause(
        id="vacuum-blocked",
        title=Text("An old snapshot keeps dead rows", "旧快照使死元组无法清除"),
        what=Text(
            "A long transaction, a prepared one, or a replication slot still needs old versions of rows. "
            "Vacuum cannot "
            "remove them, so tables grow and each scan reads more.",
            "长事务、预备事务或复制槽仍需要旧版本的行，VACUUM 无法清除，表不断膨胀，每次扫描读取更多。",
        ),
        fix=Text(
            "End the session, transaction or slot with the oldest snapshot, then run VACUUM. Limit transactions "
            "(idle_in_transaction_session_timeout) and slots (max_slot_wal_keep_size).",
            "结束持有最旧快照的会话、事务或复制槽，再执行 VACUUM；限制事务（"
            "idle_in_transaction_session_timeout）与复制槽（max_slot_wal_keep_size）。",
        ),
        risk=Text(
            "What the ended transaction did is rolled back. A replica of a dropped slot has to be built again. "
            "Rollback: run the transaction again.",
            "被结束的事务会回滚；删除复制槽的副本需重建。回退：重新执行该事务。",
        ),
        verify=Text(
            "Capture again: no snapshot is older than a minute, and dead rows decrease.",
            "再次采集：没有超过一分钟的快照，死元组减少。",
        ),
        mechanisms=("running", "disk"),
        explains=("database-hot-sql", "missing-index"),
        tested_by=("postgres_stats",),
        proven_by=("driver-tasks",),
    ),
    Cause(
        id="transaction-id-wraparound",
        title=Text("The transaction IDs of PostgreSQL run out", "PostgreSQL 事务 ID 即将耗尽"),
        what=Text(
            "Old rows were not frozen for almost two billion transactions. Vacuum works at full speed to prevent the "
            "end; without success the database stops to accept writes.",
            "近二十亿个事务内旧行未被冻结；VACUUM 正全速防止耗尽，若失败数据库将停止写入。",
        ),
        fix=Text(
            "End what blocks vacuum (old transactions, prepared ones, slots), and run VACUUM FREEZE on the "
            "oldest tables.",
            "结束阻碍 VACUUM 的对象（旧事务、预备事务、复制槽），并对最老的表执行 VACUUM FREEZE。",
        ),
        risk=Text(
            "VACUUM FREEZE reads and writes much. It can be canceled at any time; that is its rollback.",
            "VACUUM FREEZE 读写量大；可随时取消，即为回退。",
        ),
        verify=Text(
            "age(datfrozenxid) of each database is below autovacuum_freeze_max_age.",
            "各数据库的 age(datfrozenxid) 低于 autovacuum_freeze_max_age。",
        ),
        explains=("disk-saturation",),
        tested_by=("postgres_stats",),
        proven_by=("box-office-sales",),
    ),
    Cause(
        id="replication-lag",
        title=Text("A replica of the database is behind", "数据库副本落后"),
        what=Text(
            "A replica applies changes later than they are made. Readers of the replica see old data.",
            "副本应用变更的时间晚于产生时间，读取副本的程序看到旧数据。",
        ),
        fix=Text(
            "See whether the replica waits for its disk, its CPU, the network, or a long query that conflicts. Split "
            "large transactions, and allow parallel apply (replica_parallel_threads).",
            "查明副本在等磁盘、CPU、网络还是冲突的长查询；拆分大事务，并启用并行应用（replica_parallel_threads）。",
        ),
        risk=Text(
            "Canceled queries of readers have to be repeated. Rollback: restore the old settings.",
            "被取消的读查询需重试。回退：恢复原设置。",
        ),
        verify=Text(
            "Capture again under the same load: the replica is less than 10 s behind.",
            "相同负载下再次采集：副本落后不超过 10 秒。",
        ),
        explains=("synchronous-replica-wait",),
        tested_by=("postgres_stats", "mariadb_stats", "redis_info"),
        proven_by=("report-on-standby",),
    ),
    Cause(
        id="synchronous-replica-wait",
        title=Text("Commits wait for a synchronous standby", "提交在等待同步备库"),
        what=Text(
            "Each commit waits until a standby has confirmed it. The standby is slow, far away, or gone.",
            "每次提交都要等备库确认，而备库缓慢、过远或已断开。",
        ),
        fix=Text(
            "Repair the standby or the path to it. Name further standbys in synchronous_standby_names (ANY "
            "1), or use "
            "synchronous_commit = local for data that may be lost.",
            "修复备库或其链路；在 synchronous_standby_names 中列出更多备库（ANY 1），或对可丢失的数据使用 "
            "synchronous_commit = local。",
        ),
        risk=Text(
            "Without a synchronous standby, a failure of the primary loses the last commits. Rollback: "
            "restore the setting.",
            "没有同步备库时，主库故障会丢失最近的提交。回退：恢复原设置。",
        ),
        verify=Text(
            "Capture again under the same load: no session waits for SyncRep longer than 1 s.",
            "相同负载下再次采集：没有会话等待 SyncRep 超过 1 秒。",
        ),
        explains=("database-connection-limit", *_IN_FRONT),
        tested_by=("db_sessions",),
        proven_by=("box-office-copy",),
    ),
)
