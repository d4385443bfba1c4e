"""Names of the system calls in which threads wait, by number: x86-64, and the generic table of aarch64 and riscv64."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType


def _read_names(text: str) -> Mapping[int, str]:
    words = text.split()
    return MappingProxyType({int(number): name for number, name in zip(words[::2], words[1::2], strict=True)})


#: arch/x86/entry/syscalls/syscall_64.tbl
_X86_64 = _read_names("""
    0 read 1 write 2 open 3 close 4 stat 5 fstat 6 lstat 7 poll 9 mmap 10 mprotect 11 munmap 12 brk 16 ioctl 17 pread64
    18 pwrite64 19 readv 20 writev 21 access 23 select 26 msync 28 madvise 34 pause 35 nanosleep 40 sendfile 42 connect
    43 accept 44 sendto 45 recvfrom 46 sendmsg 47 recvmsg 48 shutdown 56 clone 57 fork 58 vfork 59 execve 60 exit
    61 wait4 65 semop 69 msgsnd 70 msgrcv 72 fcntl 73 flock 74 fsync 75 fdatasync 76 truncate 77 ftruncate 78 getdents
    82 rename 83 mkdir 84 rmdir 85 creat 86 link 87 unlink 89 readlink 128 rt_sigtimedwait 130 rt_sigsuspend 162 sync
    165 mount 166 umount2 187 readahead 202 futex 208 io_getevents 209 io_submit 217 getdents64 219 restart_syscall
    220 semtimedop 221 fadvise64 230 clock_nanosleep 231 exit_group 232 epoll_wait 242 mq_timedsend 243 mq_timedreceive
    247 waitid 257 openat 258 mkdirat 262 newfstatat 263 unlinkat 264 renameat 269 faccessat 270 pselect6 271 ppoll
    275 splice 277 sync_file_range 281 epoll_pwait 285 fallocate 288 accept4 295 preadv 296 pwritev 299 recvmmsg
    306 syncfs 307 sendmmsg 316 renameat2 326 copy_file_range 327 preadv2 328 pwritev2 332 statx 333 io_pgetevents
    426 io_uring_enter 435 clone3 437 openat2 439 faccessat2 441 epoll_pwait2 449 futex_waitv
""")
#: include/uapi/asm-generic/unistd.h
_GENERIC = _read_names("""
    2 io_submit 4 io_getevents 22 epoll_pwait 25 fcntl 29 ioctl 32 flock 34 mkdirat 35 unlinkat 37 linkat 38 renameat
    39 umount2 40 mount 45 truncate 46 ftruncate 47 fallocate 48 faccessat 56 openat 57 close 61 getdents64 63 read
    64 write 65 readv 66 writev 67 pread64 68 pwrite64 69 preadv 70 pwritev 71 sendfile 72 pselect6 73 ppoll 76 splice
    78 readlinkat 79 newfstatat 80 fstat 81 sync 82 fsync 83 fdatasync 84 sync_file_range 93 exit 94 exit_group
    95 waitid 98 futex 101 nanosleep 115 clock_nanosleep 128 restart_syscall 133 rt_sigsuspend 137 rt_sigtimedwait
    182 mq_timedsend 183 mq_timedreceive 188 msgrcv 189 msgsnd 192 semtimedop 193 semop 202 accept 203 connect
    206 sendto 207 recvfrom 210 shutdown 211 sendmsg 212 recvmsg 213 readahead 214 brk 215 munmap 220 clone 221 execve
    222 mmap 223 fadvise64 226 mprotect 227 msync 233 madvise 242 accept4 243 recvmmsg 260 wait4 267 syncfs
    269 sendmmsg 276 renameat2 285 copy_file_range 286 preadv2 287 pwritev2 291 statx 292 io_pgetevents
    422 futex 426 io_uring_enter 435 clone3 437 openat2 439 faccessat2 441 epoll_pwait2 449 futex_waitv
""")
_TABLES = {"x86_64": _X86_64, "aarch64": _GENERIC, "riscv64": _GENERIC, "loongarch64": _GENERIC}


def name_call(machine: str, number: int | None) -> str:
    """Return the name of a system call, or an empty string: unknown, of another machine, or none at all."""
    return _TABLES.get(machine, {}).get(number, "") if number is not None else ""
