"""Causes related to limits that make calls fail: space, inodes, processes, open files, requests."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.cause import Cause

CAUSES: tuple[Cause, ...] = (
    Cause(
        id="disk-full",
        title=Text("A file system is full", "文件系统已满"),
        what=Text(
            "A file system has no free space. Each write to it fails with ENOSPC. Databases stop or become "
            "read-only, uploads and logs fail.",
            "文件系统没有可用空间，对它的每次写入都以 ENOSPC 失败：数据库停止或变为只读，上传与日志失败。",
        ),
        fix=Text(
            "Find what grew (du -x, and lsof +L1 for deleted files that are still open). Delete or move it, or "
            "enlarge the file system. Then limit what grew: log rotation, quotas, retention.",
            "找出增长的内容（du -x；lsof +L1 查看已删除但仍打开的文件），删除或迁移，或扩容；随后限制其增长："
            "日志轮转、配额、保留期。",
        ),
        risk=Text(
            "Deleted data is gone. A deleted file frees its space only after every process has closed it. There is no "
            "rollback for deleted files: move them first.",
            "删除的数据无法恢复；已删除的文件要等所有进程关闭后才释放空间。删除无法回退：请先迁移。",
        ),
        verify=Text(
            "At least 5 % of the space is free, and no write fails.",
            "可用空间不低于 5%，且写入不再失败。",
        ),
        explains=("worker-pool-exhausted",),
        takes_no_time=True,
        proven_by=("disk-full",),
    ),
    Cause(
        id="inodes-exhausted",
        title=Text("A file system has no free inodes", "文件系统的 inode 已耗尽"),
        what=Text(
            "A file system has free space but no free inodes. Each new file fails with ENOSPC.",
            "文件系统有空间但没有可用 inode，每次新建文件都以 ENOSPC 失败。",
        ),
        fix=Text(
            "Find the directory with the most files (du --inodes -x) and delete files that no user needs: sessions, "
            "caches, queues of mail. Create the file system again with more inodes where that is not enough.",
            "找出文件最多的目录（du --inodes -x），删除不再需要的文件：会话、缓存、邮件队列；"
            "仍不够时以更多 inode 重建文件系统。",
        ),
        risk=Text(
            "Deleted files are gone. To create the file system again, its data has to be moved. Rollback: restore "
            "the files from a backup.",
            "删除的文件无法恢复；重建文件系统需先迁移数据。回退：从备份恢复文件。",
        ),
        verify=Text("At least 5 % of the inodes are free.", "可用 inode 不低于 5%。"),
        explains=("disk-full", "worker-pool-exhausted"),
        takes_no_time=True,
        proven_by=("inodes-exhausted",),
    ),
    Cause(
        id="process-limit",
        title=Text("The limit of processes and threads is reached", "进程与线程数达到限额"),
        what=Text(
            "The control group or the host may not have more processes and threads (pids.max, kernel.threads-max, "
            "kernel.pid_max). fork() and clone() fail with EAGAIN.",
            "控制组或主机的进程与线程数已达上限（pids.max、kernel.threads-max、kernel.pid_max），"
            "fork() 与 clone() 以 EAGAIN 失败。",
        ),
        fix=Text(
            "Find what creates so many threads or does not wait for its children. Limit its pool. Raise pids.max only "
            "if the number is intended.",
            "找出创建大量线程或不回收子进程的程序，限制其池；只有确属预期时才调高 pids.max。",
        ),
        risk=Text(
            "A higher limit lets a leak use more memory before it is noticed. Rollback: write the old value.",
            "提高限额会让泄漏在被发现前占用更多内存。回退：写回旧值。",
        ),
        verify=Text(
            "Capture again under the same load: the group uses less than 80 % of its limit, and no fork fails.",
            "相同负载下：用量低于限额的 80%，且 fork 不再失败。",
        ),
        explains=("worker-pool-exhausted", "listen-queue-overflow"),
        proven_by=("process-limit",),
    ),
    Cause(
        id="file-descriptor-limit",
        title=Text("The limit of open files is reached", "打开文件数达到限额"),
        what=Text(
            "A process or the host may not open more files and sockets (RLIMIT_NOFILE, fs.file-max). open(), "
            "socket() and accept() fail with EMFILE or ENFILE.",
            "进程或主机不能再打开文件与套接字（RLIMIT_NOFILE、fs.file-max），"
            "open()、socket() 与 accept() 以 EMFILE 或 ENFILE 失败。",
        ),
        fix=Text(
            "See which descriptors it holds (ls -l /proc/PID/fd). Close what it leaks, or raise the limit "
            "(LimitNOFILE=, ulimit -n) where that many connections are intended.",
            "查看其持有的描述符（ls -l /proc/PID/fd），关闭泄漏的部分；"
            "连接数确属预期时提高限额（LimitNOFILE=、ulimit -n）。",
        ),
        risk=Text(
            "The service has to be restarted. A higher limit hides a leak for longer. Rollback: restore the old limit.",
            "需要重启服务；更高的限额会更久地掩盖泄漏。回退：恢复旧限额。",
        ),
        verify=Text(
            "Capture again under the same load: the process uses less than 80 % of its limit and accepts connections.",
            "相同负载下：用量低于限额的 80%，且能接受连接。",
        ),
        explains=("worker-pool-exhausted", "listen-queue-overflow", "blocked-event-loop"),
        proven_by=("fd-limit",),
    ),
    Cause(
        id="request-limit",
        title=Text("A limit of requests refuses clients", "请求速率上限拒绝了客户端"),
        what=Text(
            "A server refuses requests above a configured rate (limit_req of nginx, a stick table of HAProxy, a quota "
            "of an API). All clients behind a proxy, a NAT or a shared key may count as one.",
            "服务拒绝超过设定速率的请求（nginx 的 limit_req、HAProxy 的 stick table、API 配额）；"
            "同一代理、NAT 或共享密钥后的所有客户端可能被计为一个。",
        ),
        fix=Text(
            "See what the limit counts by. Behind a proxy, count by the address of the client (set_real_ip_from with "
            "real_ip_header), and exempt your own services. Then set rate and burst to what real clients need.",
            "确认限流的计数依据；在代理之后应按真实客户端地址计数（set_real_ip_from 与 real_ip_header），"
            "并豁免自有服务；再按真实客户端的需要设置速率与突发量。",
        ),
        risk=Text(
            "A higher limit lets crawlers and attacks through, and a forged header escapes it: trust the proxy only. "
            "Rollback: restore the old limit and reload.",
            "更高的上限会放过爬虫与攻击，伪造的请求头可绕过限制：只信任自己的代理。回退：恢复原上限并重新加载。",
        ),
        verify=Text(
            "Capture again under the same load: the log reports no limited request of a real client.",
            "相同负载下再次采集：日志不再报告真实客户端被限流。",
        ),
        tested_by=("server_logs",),
        proven_by=("limit-behind-proxy",),
    ),
)
