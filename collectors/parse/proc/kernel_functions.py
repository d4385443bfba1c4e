"""Kernel functions in which a thread waits, by what it waits for.

Each name is the function that /proc/PID/wchan shows, from the source of Linux 3.10 to 6.18. A function that waits for
more than one thing is left out: folio_wait_bit_common, io_schedule, rwsem_down_read_slowpath, pipe_wait, wait_woken.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

WAITS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        #: net/sunrpc, fs/nfs, fs/smb/client, net/9p, fs/ceph: the answer of a file server.
        "remote_mount": (
            *("rpc_wait_bit_killable", "nfs_wait_bit_killable", "nfs_wait_on_request", "nfs4_delay_killable"),
            *("nfs4_delay_interruptible", "wait_for_response", "wait_for_free_credits", "p9_client_rpc"),
            *("p9_virtio_zc_request", "ceph_mdsc_wait_request", "ceph_osdc_wait_request"),
        ),
        #: fs/fuse/dev.c: the answer of the program that serves a FUSE mount.
        "fuse_mount": ("request_wait_answer", "fuse_get_req", "fuse_wait_answer"),
        #: fs/jbd2, fs/xfs, fs/btrfs: room in the journal, or the end of a commit that others asked for.
        "journal": (
            *("start_this_handle", "wait_transaction_locked", "wait_transaction_switching"),
            *("add_transaction_credits", "jbd2_log_do_checkpoint", "__jbd2_log_wait_for_space"),
            *("do_get_write_access", "xlog_grant_head_wait", "wait_current_trans"),
        ),
        #: mm/page-writeback.c: the writer is slowed to the speed of the disk.
        "dirty_limit": ("balance_dirty_pages",),
        #: block/blk-rq-qos.c: io.cost, io.latency or writeback throttling hold the request back.
        "io_controller": ("rq_qos_wait", "blkcg_maybe_throttle_blkg", "blkcg_maybe_throttle_current"),
        #: mm/memcontrol.c: the group is above memory.high.
        "memory_high": ("mem_cgroup_handle_over_high", "__mem_cgroup_handle_over_high", "reclaim_high"),
        #: mm/memcontrol-v1.c: the group is full and its OOM killer is off.
        "memory_full": ("mem_cgroup_oom_synchronize",),
        #: mm/vmscan.c: an allocation waits for reclaim.
        "reclaim": ("reclaim_throttle", "throttle_direct_reclaim", "wait_iff_congested"),
        #: fs/pipe.c: the reader of a pipe does not read.
        "pipe_write": ("pipe_write", "anon_pipe_write", "pipe_wait_writable"),
        #: net/unix/af_unix.c: the reader of a datagram socket, such as that of syslog, does not read.
        "unix_datagram": ("unix_wait_for_peer",),
        #: fs/locks.c: another process holds the lock of a file.
        "file_lock": (
            *("locks_lock_inode_wait", "flock_lock_inode_wait", "posix_lock_inode_wait", "fcntl_setlk"),
            *("fcntl_setlk64", "flock_lock_file_wait", "do_lock_file_wait"),
        ),
        #: fs/notify/fanotify: a program that checks files has not permitted the access.
        "fanotify": ("fanotify_get_response", "fanotify_handle_event"),
        #: kernel/audit.c: the queue to auditd is full.
        "audit": ("audit_log_start",),
        #: drivers/char/random.c: the generator is not seeded, or /dev/random of kernels before 5.6 is empty.
        "entropy": ("wait_for_random_bytes", "random_read", "_random_read"),
        #: fs/userfaultfd.c: another process has not supplied the page.
        "userfault": ("handle_userfault",),
        #: block/blk-core.c: the queue of the device is frozen or its driver suspended it.
        "queue_frozen": ("blk_queue_enter", "__bio_queue_enter"),
    }
)
#: Function → what is waited for.
KIND_OF: Mapping[str, str] = MappingProxyType(
    {function: kind for kind, functions in WAITS.items() for function in functions}
)
