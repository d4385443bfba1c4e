"""Causes related to locks of databases."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.cause import Cause

CAUSES: tuple[Cause, ...] = (
    Cause(
        id="database-lock-wait",
        title=Text("Sessions of the database wait for a lock", "数据库会话在等待锁"),
        what=Text(
            "One session holds a lock on rows or a table, and others wait for it one after the other. The database is "
            "idle in the meantime.",
            "某个会话持有行锁或表锁，其他会话依次等待它；此时数据库是空闲的。",
        ),
        fix=Text(
            "See what the session at the head of the queue does (pg_blocking_pids). Cancel it if it is not needed. "
            "Then shorten its transaction, commit in batches, or run schema changes with lock_timeout.",
            "查看队首会话在做什么（pg_blocking_pids），不需要时取消它；随后缩短其事务、分批提交，"
            "或以 lock_timeout 执行表结构变更。",
        ),
        risk=Text(
            "What the canceled transaction did is rolled back, and its client gets an error. Rollback: run it again.",
            "被取消的事务会回滚，其客户端收到错误。回退：重新执行。",
        ),
        verify=Text(
            "Capture again under the same load: no session waits longer than 1 s for a lock.",
            "相同负载下再次采集：没有会话等待锁超过 1 秒。",
        ),
        # PostgreSQL waits for locks of rows and tables at its latch (storage/lmgr/proc.c, ProcSleep), in epoll_wait().
        mechanisms=("lock", "semaphore", "condition", "park", "unknown"),
        explains=(
            *("slow-dependency", "worker-pool-exhausted", "listen-queue-overflow"),
            *("connection-pool-exhausted", "database-connection-limit"),
        ),
        tested_by=("db_sessions", "postgres_titles", "mariadb_stats"),
        proven_by=("mariadb-metadata-lock",),
    ),
    Cause(
        id="idle-in-transaction",
        title=Text("An idle transaction holds locks", "空闲事务持有锁"),
        what=Text(
            "A client has begun a transaction, changed rows and sends nothing more. Its locks stay until it commits, "
            "and all who need them wait.",
            "客户端开启事务并修改了行，之后不再发送任何内容；其锁一直保留到提交，所有需要它们的会话都在等待。",
        ),
        fix=Text(
            "End the session (pg_terminate_backend). Set idle_in_transaction_session_timeout. In the application, do "
            "not wait for people or other services within a transaction.",
            "结束该会话（pg_terminate_backend），设置 idle_in_transaction_session_timeout；"
            "应用不要在事务内等待人或其他服务。",
        ),
        risk=Text(
            "The open transaction is rolled back, and its client gets an error. Rollback: run it again.",
            "未提交的事务会回滚，其客户端收到错误。回退：重新执行。",
        ),
        verify=Text(
            "Capture again under the same load: no session is idle in a transaction that others wait for.",
            "相同负载下再次采集：没有会话因空闲事务而被他人等待。",
        ),
        mechanisms=("lock", "semaphore", "condition", "unknown"),
        explains=(
            *("database-lock-wait", "slow-dependency", "worker-pool-exhausted", "listen-queue-overflow"),
            *("connection-pool-exhausted", "database-connection-limit", "vacuum-blocked"),
        ),
        tested_by=("db_sessions", "postgres_titles", "mariadb_stats"),
        proven_by=("postgres-idle-in-transaction",),
    ),
)
