"""System call filters (seccomp) for sandboxed processes: an allow-list; the kernel refuses everything else.

A filter applies for the lifetime of the process and of all programs that it starts. It needs no privilege,
only `no_new_privs`. A system call that is not listed returns ENOSYS, as on an older kernel, so that libraries
use their fallback. There is no `socket`, `ptrace`, `kill`, `link`, `chmod`, `setsid` or shared memory.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct

#: name:number on x86_64:number on aarch64; -1 if the architecture does not have the call.
_CALLS = """
access:21:-1 arch_prctl:158:-1 brk:12:214 capget:125:90 chdir:80:49 clock_getres:229:114 clock_gettime:228:113
clock_nanosleep:230:115 clone:56:220 close:3:57 close_range:436:436 copy_file_range:326:285 dup:32:23
dup2:33:-1 dup3:292:24 epoll_create1:291:20 epoll_ctl:233:21 epoll_pwait:281:22 epoll_wait:232:-1
eventfd2:290:19 execve:59:221 exit:60:93 exit_group:231:94 faccessat:269:48 faccessat2:439:439
fadvise64:221:223 fallocate:285:47 fchdir:81:50 fcntl:72:25 fdatasync:75:83 flock:73:32 fstat:5:80
fstatfs:138:44 fsync:74:82 ftruncate:77:46 futex:202:98 get_robust_list:274:100 getcpu:309:168 getcwd:79:17
getdents64:217:61 getegid:108:177 geteuid:107:175 getgid:104:176 getgroups:115:158 getpgid:121:155
getpgrp:111:-1 getpid:39:172 getppid:110:173 getrandom:318:278 getresgid:120:150 getresuid:118:148
getrlimit:97:163 getrusage:98:165 getsid:124:156 gettid:186:178 gettimeofday:96:169 getuid:102:174 ioctl:16:29
lseek:8:62 lstat:6:-1 madvise:28:233 membarrier:324:283 mincore:27:232 mkdir:83:-1 mkdirat:258:34 mmap:9:222
mprotect:10:226 mremap:25:216 msync:26:227 munmap:11:215 nanosleep:35:101 newfstatat:262:79 open:2:-1
openat:257:56 openat2:437:437 pipe:22:-1 pipe2:293:59 poll:7:-1 ppoll:271:73 prctl:157:167 pread64:17:67
preadv:295:69 preadv2:327:286 prlimit64:302:261 pselect6:270:72 pwrite64:18:68 pwritev:296:70 read:0:63
readlink:89:-1 readlinkat:267:78 readv:19:65 recvfrom:45:207 recvmsg:47:212 rename:82:-1 renameat:264:38
renameat2:316:276 restart_syscall:219:128 rmdir:84:-1 rseq:334:293 rt_sigaction:13:134 rt_sigprocmask:14:135
rt_sigreturn:15:139 sched_getaffinity:204:123 sched_yield:24:124 select:23:-1 sendmsg:46:211 sendto:44:206
sendfile:40:71 set_robust_list:273:99 set_tid_address:218:96 sigaltstack:131:132 splice:275:76 stat:4:-1
statfs:137:43 statx:332:291 sysinfo:99:179 time:201:-1 times:100:153 truncate:76:45 umask:95:166 uname:63:160
unlink:87:-1 unlinkat:263:35 wait4:61:260 waitid:247:95 write:1:64 writev:20:66
"""
#: AUDIT_ARCH_* of <linux/audit.h>, and the column of the table above.
_ARCHITECTURES = {"x86_64": (0xC000003E, 1), "aarch64": (0xC00000B7, 2)}
#: Only with a launcher: messages over the connected socket to it.
_MESSAGES = frozenset({"sendmsg", "recvmsg", "sendto", "recvfrom"})
#: Requests about a terminal or the close-on-exec flag; the others could change files or devices.
_IOCTLS = (0x5401, 0x5413, 0x541B, 0x5450, 0x5451)  # TCGETS, TIOCGWINSZ, FIONREAD, FIONCLEX, FIOCLEX
#: F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW, F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW,
#: F_DUPFD_CLOEXEC, F_SETPIPE_SZ, F_GETPIPE_SZ, F_GET_SEALS. Without F_SETOWN and F_SETSIG: with them the kernel sends
#: any signal to any process of this account.
_FCNTLS = (*range(8), 36, 37, 38, 1030, 1031, 1032, 1034)
#: PR_GET_DUMPABLE, PR_SET_NAME, PR_GET_NAME, PR_CAPBSET_READ, PR_SET_VMA; no others, as PR_SET_PDEATHSIG.
_PRCTLS = (3, 15, 16, 23, 0x53564D41)
_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000
_KILL_PROCESS = 0x80000000
_LOAD, _JUMP_EQUAL, _RETURN = 0x20, 0x15, 0x06
_NUMBER, _ARCH, _FIRST_ARGUMENT, _SECOND_ARGUMENT = 0, 4, 16, 24
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_Instruction = tuple[int, int, int, int]


class _Program(ctypes.Structure):
    """`struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def is_supported() -> bool:
    """Return whether this architecture has a filter and this kernel can apply one."""
    if platform.machine() not in _ARCHITECTURES:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    # Without a filter the call fails: with EFAULT if seccomp exists, with EINVAL if not.
    libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, None, 0, 0)
    return ctypes.get_errno() in {errno.EFAULT, errno.EACCES}


def install_filter(*, can_execute: bool = False, has_launcher: bool = False) -> None:
    """Allow this process the listed system calls only; it can start no process and no thread.

    Args:
        can_execute: allow `execve`, for a process that is about to execute another program.
        has_launcher: allow messages over sockets that are already open.

    Raises:
        OSError: the kernel refuses the filter.
    """
    names = {"execve"} if can_execute else set()
    data = b"".join(
        struct.pack("HBBI", *item) for item in _build(names | (_MESSAGES if has_launcher else set()))
    )
    buffer = ctypes.create_string_buffer(data, len(data))
    program = _Program(len(data) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"seccomp: {os.strerror(ctypes.get_errno())}")


def _build(extra: set[str]) -> list[_Instruction]:
    """Return the filter as instructions of classic BPF: (code, jump if true, jump if false, value)."""
    architecture, column = _ARCHITECTURES[platform.machine()]
    calls = {
        name: int(numbers[column - 1]) for name, *numbers in (item.split(":") for item in _CALLS.split())
    }
    conditional = {
        "ioctl": (_SECOND_ARGUMENT, _IOCTLS, errno.ENOTTY),
        "fcntl": (_SECOND_ARGUMENT, _FCNTLS, errno.EINVAL),
        "prctl": (_FIRST_ARGUMENT, _PRCTLS, errno.EPERM),
        # Only on itself: otherwise another process of the same account could be slowed down.
        "prlimit64": (_FIRST_ARGUMENT, (0,), errno.EPERM),
        "clone": (_FIRST_ARGUMENT, (), errno.EPERM),
    }
    omitted = conditional.keys() | ({"execve"} | _MESSAGES) - extra
    program: list[_Instruction] = [
        (_LOAD, 0, 0, _ARCH),
        (_JUMP_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL_PROCESS),
        (_LOAD, 0, 0, _NUMBER),
    ]
    for name, number in calls.items():
        if number >= 0 and name not in omitted:
            program += [(_JUMP_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    for name, (argument, values, error) in conditional.items():
        block: list[_Instruction] = [(_LOAD, 0, 0, argument)]
        for value in values:
            block += [(_JUMP_EQUAL, 0, 1, value), (_RETURN, 0, 0, _ALLOW)]
        block.append((_RETURN, 0, 0, _ERRNO | error))
        program += [(_JUMP_EQUAL, 0, len(block), calls[name]), *block]
    program.append((_RETURN, 0, 0, _ERRNO | errno.ENOSYS))
    return program
