"""Rules about what logs report of the capture: requests that failed, limits that were reached, and floods."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.application import logs
from culprit.domain.rules.rule import Condition, Measure, Rule, Threshold
from culprit.domain.rules.use_method import Use


def _build_log_rule(
    rule_id: str,
    measure: Measure,
    title: Text,
    cause: str,
    source: str,
    *,
    refuted_by: tuple[str, ...] = (),
    harm: bool = True,
) -> Rule:
    """Return a rule that matches where a log reported a limit during the capture.

    harm: whether a message always means a request that failed; programs try again what was refused.
    """
    return Rule(
        id=rule_id,
        title=title,
        summary=Text(
            "The log of {name} reported it {value} times during the capture.",
            "采集期间 {name} 的日志报告了 {value} 次。",
        ),
        measure=measure,
        op=">=",
        thresholds=(("critical", Threshold("critical", 1.0, "the program itself reports a failed request")),),
        strength=Strength.DIRECT,
        use=Use("application", "errors"),
        suspects=(cause,),
        causes=(cause,),
        refuted_by=refuted_by,
        harm=harm,
        caveats=Text(
            "A program may report a limit only once, and a log can quote another program.",
            "程序可能只报告一次上限，日志也可能引用其他程序的信息。",
        ),
        source=source,
    )


RULES: tuple[Rule, ...] = (
    Rule(
        id="F-LOG-REQUESTS-FAIL",
        title=Text("Requests are answered with errors", "请求以错误应答"),
        summary=Text(
            "{name} answered {value} % of {requests} requests with an error of the server, most of them with {status}.",
            "{name} 的 {requests} 个请求中有 {value} % 以服务端错误应答，最多的是 {status}。",
        ),
        measure=logs.FAILED,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 1.0, "percent: an objective of 99 % is missed (SRE book, ch. 4)")),
            ("critical", Threshold("critical", 10.0, "percent: one request in ten")),
        ),
        strength=Strength.CONTEXT,
        use=Use("application", "errors"),
        refuted_by=("F-LOG-ONE-CLIENT-FAILS",),
        harm=True,
        caveats=Text(
            "The status does not give the reason: 502 and 503 are of a server behind it, 504 of one that is late.",
            "状态码不说明原因：502 与 503 来自其后的服务，504 表示其后的服务超时。",
        ),
        source="statuses 500 to 599 (RFC 9110, section 15.6) in the log that the server wrote during the capture",
    ),
    Rule(
        id="F-LOG-ONE-CLIENT-FAILS",
        title=Text("Only a few clients are refused", "只有少数客户端被拒绝"),
        summary=Text(
            "Of the clients of {name}, {clients} have {value} % of the failures and send {sent} % of the requests. The "
            "others are served, as a limit for each client intends.",
            "{name} 的 {clients} 个客户端占 {value} % 的失败，只发送 {sent} % 的请求；"
            "其他客户端正常，符合按客户端限流的本意。",
        ),
        measure=logs.FAILING_CLIENT,
        op=">",
        thresholds=(("info", Threshold("info", 75.0, "percent: three of four failures, with the whole interval")),),
        strength=Strength.CONTEXT,
        use=Use("application", "utilization"),
        caveats=Text(
            "For these clients it is an outage. Name their service to investigate it.",
            "对这些客户端而言这就是故障；如需调查，请指定其服务。",
        ),
        source="addresses of clients in the log; a limit such as limit_conn counts each address",
    ),
    Rule(
        id="F-LOG-CLIENTS-GIVE-UP",
        title=Text("Clients give up before the answer", "客户端在收到应答前放弃"),
        summary=Text(
            "Clients of {name} closed {value} % of {requests} requests before they were answered.",
            "{name} 的 {requests} 个请求中有 {value} % 在应答前被客户端关闭。",
        ),
        measure=logs.CLIENT_CLOSED,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 10.0, "percent: one request in ten; some users always leave a page early")),
        ),
        strength=Strength.CONTEXT,
        use=Use("application", "saturation"),
        harm=True,
        caveats=Text(
            "Pages that abort their own requests, such as searches while typing, close them by design.",
            "会主动中止请求的页面（例如输入时的搜索）属正常现象。",
        ),
        source="status 499 of nginx (ngx_http_request.h, NGX_HTTP_CLIENT_CLOSED_REQUEST) during the capture",
    ),
    _build_log_rule(
        "F-LOG-CONNECTIONS-FULL", logs.CONNECTIONS_FULL,
        Text("A server reports that its connections are used up", "服务报告连接数已用尽"), "connection-limit",
        "messages of nginx (worker_connections), HAProxy, Redis, PgBouncer, Dovecot and OpenSSH",
    ),
    _build_log_rule(
        "F-LOG-CLIENTS-LIMITED", logs.CLIENTS_LIMITED,
        Text("A server reports clients above the limit of each", "服务报告客户端超过单个上限"), "connection-limit",
        "message of nginx: limit_conn counts connections by a key, which is the address of the client in most cases",
        refuted_by=("F-LOG-ONE-CLIENT-FAILS",),
    ),
    _build_log_rule(
        "F-LOG-REQUESTS-LIMITED", logs.REQUESTS_LIMITED,
        Text("A server reports requests above a limit of their rate", "服务报告请求超过速率上限"), "request-limit",
        "message of nginx (limit_req); reason phrase of status 429 (RFC 6585) in logs of callers",
        refuted_by=("F-LOG-ONE-CLIENT-FAILS",),
    ),
    Rule(
        id="F-LOG-REQUESTS-REFUSED",
        title=Text("Requests are refused by a limit of their rate", "请求因速率上限被拒绝"),
        summary=Text(
            "{name} answered {value} % of {requests} requests with status 429.",
            "{name} 的 {requests} 个请求中有 {value} % 以状态码 429 应答。",
        ),
        measure=logs.LIMITED,
        op=">=",
        thresholds=(("warn", Threshold("warn", 10.0, "percent: one request in ten is more than a few crawlers")),),
        strength=Strength.MECHANISM,
        use=Use("application", "errors"),
        suspects=("request-limit",),
        causes=("request-limit",),
        refuted_by=("F-LOG-ONE-CLIENT-FAILS",),
        harm=True,
        caveats=Text(
            "A single client that sends far too much is refused by design.",
            "对发送过多请求的单个客户端，这正是限流的本意。",
        ),
        source="status 429 (RFC 6585, section 4) in the log that the server wrote during the capture",
    ),
    _build_log_rule(
        "F-LOG-WORKERS-FULL", logs.WORKERS_FULL,
        Text("A server reports that its workers are used up", "服务报告工作进程已用尽"), "worker-pool-exhausted",
        "messages of php-fpm (pm.max_children), Apache (MaxRequestWorkers), uWSGI, Postfix, OpenLDAP and Java",
    ),
    _build_log_rule(
        "F-LOG-DATABASE-FULL", logs.DATABASE_FULL,
        Text("A log reports that the database accepts no more connections", "日志报告数据库不再接受连接"),
        "database-connection-limit", "messages of PostgreSQL (too many clients already) and MariaDB (error 1040)",
    ),
    _build_log_rule(
        "F-LOG-NAMES-FAIL", logs.NAMES_FAIL,
        Text("A log reports names that cannot be resolved", "日志报告域名无法解析"), "failing-name-resolution",
        "messages of libc, Go, Java and Node about name resolution",
    ),
    _build_log_rule(
        "F-LOG-NAMES-UNKNOWN", logs.NAMES_UNKNOWN,
        Text("A log reports names that do not exist", "日志报告域名不存在"), "failing-name-resolution",
        "getaddrinfo(3): EAI_NONAME; a name server has answered, so only requests that fail show harm", harm=False,
    ),
    _build_log_rule(
        "F-LOG-PEER-REFUSES", logs.PEER_REFUSES,
        Text("A log reports connections that are refused or have no route", "日志报告连接被拒绝或无路由"),
        "connections-refused", "connect(2): ECONNREFUSED, EHOSTUNREACH, ENETUNREACH", harm=False,
    ),
    _build_log_rule(
        "F-LOG-FILES-FULL", logs.FILES_FULL,
        Text(
            "A log reports too many open files",
            "日志报告打开文件过多",
        ), "file-descriptor-limit", "errno(3): EMFILE, ENFILE",
    ),
    _build_log_rule(
        "F-LOG-SPACE-FULL", logs.SPACE_FULL,
        Text("A log reports a full file system", "日志报告空间不足"), "disk-full",
        "errno(3): ENOSPC, EDQUOT (a quota), EFBIG (a limit of the size of files)",
    ),
    _build_log_rule(
        "F-LOG-PROCESSES-FULL", logs.PROCESSES_FULL,
        Text("A log reports that no process or thread can be created", "日志报告无法创建进程或线程"),
        "process-limit", "fork(2), pthread_create(3): EAGAIN; messages of shells, Java, Python, Go and Node",
    ),
    _build_log_rule(
        "F-LOG-PROGRAMS-DIE", logs.PROGRAMS_DIE,
        Text("A log reports programs that die", "日志报告程序异常退出"), "crash-loop",
        "messages of gunicorn, uWSGI, php-fpm, Apache, nginx, PostgreSQL, Dovecot, supervisord and systemd about exit "
        "statuses other than 0 and signals that no supervisor sends. That at least one is in 5 s by chance has 2.5 % "
        "where they are 200 s apart (Poisson)", harm=False,
    ),
    _build_log_rule(
        "F-LOG-POOL-EMPTY", logs.POOL_FULL,
        Text("A log reports that a connection pool had no free connection", "日志报告连接池没有空闲连接"),
        "connection-pool-exhausted",
        "messages of SQLAlchemy (QueuePool), HikariCP, DBCP, Tomcat JDBC, psycopg_pool, go-redis, node-postgres, "
        "MongoDB drivers and PgBouncer (query_wait_timeout)",
        refuted_by=("F-DEP-SLOW-REPLY",),
    ),
    _build_log_rule(
        "F-LOG-LOCKS-WAIT", logs.LOCKS_WAIT,
        Text("A log reports locks that were not free in time", "日志报告等锁超时"), "database-lock-wait",
        "messages of PostgreSQL (lock_timeout, log_lock_waits, deadlocks), MariaDB (errors 1205 and 1213) and SQLite",
    ),
    _build_log_rule(
        "F-LOG-CACHE-FULL", logs.CACHE_FULL,
        Text("A cache refuses writes because it is full", "缓存已满，拒绝写入"), "cache-memory-limit",
        "message of Redis and Valkey: maxmemory with the policy noeviction",
    ),
    _build_log_rule(
        "F-LOG-HEAP-FULL", logs.HEAP_FULL,
        Text("A log reports that the heap of a JVM is full", "日志报告 JVM 堆已满"), "heap-almost-full",
        "java.lang.OutOfMemoryError: Java heap space, GC overhead limit exceeded",
    ),
    _build_log_rule(
        "F-LOG-READ-ONLY", logs.READ_ONLY,
        Text("A log reports a file system that is read-only", "日志报告文件系统只读"), "filesystem-read-only",
        "errno(3): EROFS",
    ),
    _build_log_rule(
        "F-LOG-CERTIFICATE-EXPIRED", logs.CERTIFICATE_EXPIRED,
        Text("A log reports a certificate outside of its validity", "日志报告证书不在有效期内"), "certificate-expired",
        "messages of OpenSSL (certificate has expired), Go (x509) and Node (CERT_HAS_EXPIRED); RFC 5280, 4.1.2.5",
    ),
    Rule(
        id="F-LOG-FLOOD",
        title=Text("A log grows so fast that it fills its file system", "日志增长过快，即将写满文件系统"),
        summary=Text(
            "{name} appends {kb} kB/s to {path}: the file system is full in {value} h. {same} % of the "
            "lines are of one kind.",
            "{name} 以 {kb} kB/s 写入 {path}，文件系统将在 {value} 小时内写满；{same} % 的行属于同一类。",
        ),
        measure=logs.FLOOD_HOURS,
        op="<=",
        thresholds=(
            ("warn", Threshold("warn", 24.0, "logs are usually rotated once a day")),
            ("critical", Threshold("critical", 1.0, "a limit that is reached within the hour")),
        ),
        strength=Strength.DIRECT,
        use=Use("disk", "saturation"),
        suspects=("log-flood",),
        causes=("log-flood",),
        refutes=(),
        caveats=Text(
            "An access log has one kind of line by design. Check that it is rotated by size.",
            "访问日志本就只有一类行：请确认其按大小轮转。",
        ),
        source="stat of the log before and after; df. logrotate(8)",
    ),
    Rule(
        id="F-LOG-WORK",
        title=Text("A program does little else than log", "程序几乎只在写日志"),
        summary=Text(
            "{name} appends {lines} lines to {path} each second: its CPU time is {value} µs for each of them.",
            "{name} 每秒向 {path} 写入 {lines} 行，平均每行只占 {value} 微秒 CPU 时间。",
        ),
        measure=logs.CPU_PER_LINE,
        op="<=",
        thresholds=(
            ("warn", Threshold("warn", 50.0, "estimate: 5 µs format and write a line, a tenth of the work")),
        ),
        strength=Strength.MECHANISM,
        use=Use("cpu", "utilization"),
        also=(
            Condition(
                logs.LINES_PER_S, ">=", Threshold("lines", 10000.0, "at 5 µs each, a twentieth of a CPU")
            ),
        ),
        suspects=("log-flood",),
        causes=("log-flood",),
        refutes=(),
        caveats=Text(
            "A program whose work is to write lines, such as a receiver of logs, looks like this.",
            "以写日志为本职的程序（例如日志接收端）与此相同。",
        ),
        source="lines of the log in the capture; schedstat of its threads. write(2) and a time stamp for "
        "each line; log4j: Performance",
    ),
)  # fmt: skip
