"""Causes below file systems: deleted files that are open, arrays, sessions, rate limits of a volume."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.cause import Cause

_SLOW = ("disk-saturation", "dstate-pileup", "journal-stall", "worker-pool-exhausted")

CAUSES: tuple[Cause, ...] = (
    Cause(
        id="deleted-open-file",
        title=Text("A deleted file that is open holds the space", "已删除但仍打开的文件占用空间"),
        what=Text(
            "A file was deleted while a program had it open, often a log. Its space is free after it is closed.",
            "文件（常为日志）在被程序打开时删除，程序关闭后空间才会释放。",
        ),
        fix=Text(
            "Let the program reopen its log (a signal, logrotate copytruncate), or restart it. At once: truncate "
            "/proc/PID/fd/N.",
            "让程序重新打开日志（信号、logrotate 的 copytruncate）或重启；应急可截断 /proc/PID/fd/N。",
        ),
        risk=Text(
            "Truncating a file that is not a log destroys data that is in use. Copy it first.",
            "截断非日志文件会毁坏正在使用的数据，请先复制。",
        ),
        verify=Text(
            "df shows the space, and no deleted file is left.", "df 显示空间已释放，且无遗留的已删除文件。"
        ),
        explains=("disk-full",),
    ),
    Cause(
        id="array-rebuild",
        title=Text("An array rebuilds", "阵列正在重建"),
        what=Text(
            "A RAID array copies or checks all its members. Other requests share the disks with it.",
            "RAID 阵列正在复制或检查全部成员，其他请求与其共享磁盘。",
        ),
        fix=Text(
            "Lower /proc/sys/dev/raid/speed_limit_max in busy hours. Move monthly checks to a quiet time.",
            "繁忙时段降低 /proc/sys/dev/raid/speed_limit_max；将每月检查移到空闲时段。",
        ),
        risk=Text(
            "A slower rebuild leaves the array without redundancy for longer. Rollback: the old limit.",
            "重建变慢会延长无冗余的时间。回退：恢复旧限速。",
        ),
        verify=Text("Requests are as fast as before the rebuild.", "请求恢复到重建前的速度。"),
        explains=_SLOW,
        mechanisms=("disk",),
    ),
    Cause(
        id="block-session-lost",
        title=Text("The connection to a network disk is lost", "与网络磁盘的连接已断开"),
        what=Text(
            "An iSCSI session or a path to a disk failed. Requests wait for the recovery timeout, then fail.",
            "iSCSI 会话或磁盘路径失败，请求等到恢复超时后失败。",
        ),
        fix=Text(
            "Check the target and the network to it. Log in again (iscsiadm --login). Use several paths (multipath).",
            "检查目标端及到它的网络，重新登录（iscsiadm --login），并使用多路径。",
        ),
        risk=Text(
            "File systems may have become read-only: check them before use.",
            "文件系统可能已变为只读，使用前请检查。",
        ),
        verify=Text(
            "All sessions are LOGGED_IN and all devices run.", "所有会话为 LOGGED_IN，设备为 running。"
        ),
        explains=(*_SLOW, "failing-disk", "filesystem-read-only", "block-device-suspended"),
        mechanisms=("disk", "filesystem"),
    ),
    Cause(
        id="volume-rate-limit",
        title=Text("The volume is at its rate limit", "卷达到速率上限"),
        what=Text(
            "The provider or the device allows a constant number of requests or bytes a second. All else queues.",
            "云厂商或设备每秒只允许固定的请求数或字节数，其余排队。",
        ),
        fix=Text(
            "Compare the rate with the limit of the volume and of the instance. Raise it, or read and write less.",
            "将速率与卷及实例的限额核对；提高限额，或减少读写。",
        ),
        risk=Text(
            "A higher limit costs money. Burst credits hide the limit for a while. Rollback: the old type.",
            "更高限额需付费；突发额度会暂时掩盖限制。回退：恢复原类型。",
        ),
        verify=Text("Requests no longer queue at the same load.", "相同负载下请求不再排队。"),
        explains=_SLOW,
        mechanisms=("disk",),
    ),
)
