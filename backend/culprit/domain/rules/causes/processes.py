"""Causes related to name resolution and to programs that end, leak or are in trouble from their start."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.cause import Cause

_IN_FRONT = ("slow-dependency", "worker-pool-exhausted", "listen-queue-overflow", "connection-pool-exhausted")

CAUSES: tuple[Cause, ...] = (
    Cause(
        id="slow-name-resolution",
        title=Text("Name servers answer late or not at all", "域名解析缓慢"),
        what=Text(
            "A program waits for a name server before it can connect. A lost query costs the timeout of "
            "the resolver, "
            "5 s by default, for each attempt.",
            "程序在连接前等待域名服务器；每次丢失的查询要花费解析器的超时，默认 5 秒。",
        ),
        fix=Text(
            "Query each server of resolv.conf (dig @server). Remove the one that does not answer, and run "
            "a cache on the "
            "host. Shorten options timeout and attempts. Let the application reuse connections.",
            "逐一查询 resolv.conf 中的服务器（dig @server），移除不应答者，并在本机运行缓存；缩短 timeout "
            "与 attempts；应用复用连接。",
        ),
        risk=Text(
            "With a short timeout, slow but correct answers are lost, and a cache can hold old addresses. Rollback: "
            "restore resolv.conf.",
            "超时过短会丢弃较慢但正确的应答，缓存可能保留旧地址。回退：恢复 resolv.conf。",
        ),
        verify=Text(
            "Capture again under the same load: less than a tenth of the time goes to name servers.",
            "相同负载下再次采集：等待域名服务器的时间不足十分之一。",
        ),
        mechanisms=("dns",),
        explains=("failing-name-resolution", *_IN_FRONT),
        proven_by=("dns-slow",),
        tested_by=("dns_probe",),
    ),
    Cause(
        id="failing-name-resolution",
        title=Text("Name servers answer with errors", "域名解析失败"),
        what=Text(
            "A name server answers with a failure, or none can be reached. Programs cannot connect to "
            "services by name.",
            "域名服务器返回失败或无法到达，程序无法按名称连接服务。",
        ),
        fix=Text(
            "See why the server fails: its own upstream servers, DNSSEC, a zone that was not loaded. Name "
            "a server that "
            "works first in resolv.conf.",
            "查明服务器失败的原因：其上游、DNSSEC、未加载的区域；在 resolv.conf 中把可用的服务器放在首位。",
        ),
        risk=Text(
            "Another server may not know internal names. Rollback: restore resolv.conf.",
            "其他服务器可能不认识内部域名。回退：恢复 resolv.conf。",
        ),
        verify=Text(
            "Each server of resolv.conf answers each query.",
            "resolv.conf 中的每个服务器都能应答每次查询。",
        ),
        mechanisms=("dns",),
        explains=("slow-name-resolution", *_IN_FRONT),
        tested_by=("dns_probe", "server_logs"),
        proven_by=("dns-failing",),
    ),
    Cause(
        id="crash-loop",
        title=Text("A service ends and is started again and again", "服务反复崩溃重启"),
        what=Text(
            "A service or one of its workers fails, and its supervisor starts it again. Requests in between are "
            "refused, those in progress fail, and each start costs CPU.",
            "服务或其工作进程失败，又被监管程序重启；其间的请求被拒绝，处理中的请求失败，每次启动还消耗 CPU。",
        ),
        fix=Text(
            "Read its last lines of log and its exit status (systemctl status, journalctl -u, coredumpctl, dmesg). "
            "Undo the change before the first failure. Let the supervisor wait longer between attempts.",
            "查看最后的日志与退出状态（systemctl status、journalctl -u），撤销首次失败前的变更；"
            "让监管程序延长重试间隔。",
        ),
        risk=Text(
            "An older version may not read data that the newer one has written. Rollback: install the newer version.",
            "旧版本可能无法读取新版本写入的数据。回退：重新安装新版本。",
        ),
        verify=Text(
            "The process is older than five minutes, and no caller is refused.",
            "进程已运行超过五分钟，且没有调用方被拒绝。",
        ),
        explains=("slow-dependency", "cpu-exhausted", "listen-queue-overflow", "connections-refused"),
        proven_by=("crash-loop", "worker-crashes"),
    ),
    Cause(
        id="worker-leak",
        title=Text("Processes are started and never end", "工作进程泄漏"),
        what=Text(
            "A parent starts children that do not end, or does not wait for those that ended. Process IDs "
            "and memory run "
            "out, then no process can start.",
            "父进程启动的子进程不退出，或不回收已退出的子进程；进程号与内存逐渐耗尽，随后无法启动新进程。",
        ),
        fix=Text(
            "Find what the children wait for (their stacks). End them after a time, wait for them "
            "(SIGCHLD), and use an "
            "init process in containers (docker run --init).",
            "查明子进程在等待什么（调用栈），为其设置时限，回收它们（SIGCHLD），容器内使用 init（docker "
            "run --init）。",
        ),
        risk=Text(
            "Children that are ended lose their work. Rollback: remove the time limit.",
            "被结束的子进程会丢失其工作。回退：去掉时限。",
        ),
        verify=Text(
            "Capture again under the same load: as many processes end as start, and no zombie stays.",
            "相同负载下再次采集：退出与启动的进程数相当，没有僵尸进程残留。",
        ),
        explains=("process-limit", "memory-leak"),
    ),
    Cause(
        id="certificate-expired",
        title=Text("A certificate has expired", "证书已过期"),
        what=Text(
            "A certificate is outside of its time of validity, so each new TLS connection that checks it is refused. "
            "Connections that exist keep working until they end.",
            "证书不在有效期内，所有校验它的新 TLS 连接都被拒绝；已建立的连接在结束前仍可用。",
        ),
        fix=Text(
            "Find which certificate it is (openssl s_client -connect HOST:PORT | openssl x509 -noout -dates), renew it "
            "and reload the program that has it. Check that its renewal runs, and that the clock is right.",
            "用 openssl s_client -connect HOST:PORT | openssl x509 -noout -dates 找出该证书，"
            "续期并重新加载使用它的程序；确认自动续期在运行且时钟正确。",
        ),
        risk=Text(
            "A reload ends connections of some programs. Do not switch the check off instead. Rollback: restore the "
            "former certificate file.",
            "部分程序重新加载时会断开连接；不要以关闭校验代替。回退：恢复原证书文件。",
        ),
        verify=Text(
            "Capture again under the same load: no listener presents an expired certificate, the log reports none, and "
            "no request fails for it.",
            "相同负载下再次采集：没有监听端口出示过期证书，日志不再报告，也没有请求因此失败。",
        ),
        explains=("slow-dependency", "crash-loop"),
        tested_by=("server_logs", "certificates"),
        proven_by=("site-certificate",),
    ),
)
