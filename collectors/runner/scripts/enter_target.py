"""Attach to a JVM, or read a file, with the rights of the target: in its root, as its user, without capabilities.

Runs on the host with the host's own Python (3.6 or later, -I -S -B) and executes nothing.

    attach PID MAX_BYTES SECONDS COMMAND     one diagnostic command by the HotSpot attach protocol
    file PATH MAX_BYTES SECONDS PID...       a line with the modification time, then the end of a regular file

Exit status: 0 all was written, 66 there is no such file, 69 anything else; the reason is on standard error.
"""
# ruff: noqa: PTH108, PTH115, PTH116, S108
# Paths are relative to descriptors, which pathlib cannot do; /tmp is where HotSpot has its socket.

import ctypes
import os
import signal
import socket
import stat
import sys
import time

PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 4, 24, 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
CAPABILITY_VERSION_3 = 0x20080522
MAX_MAPS_BYTES, MAX_SMALL_BYTES = 64 << 20, 4 << 20
START_LISTENER_S = 5.0
NO_ATTACH = b"-XX:+DisableAttachMechanism\0"
#: The name of an entry in the JVM's performance data. The first character of its value is 1 where it can be attached.
CAPABILITIES = b"sun.rt.jvmCapabilities\0"
ENTRY_HEADER_BYTES = 20
MAX_NAMES = 10_000
NOT_LOGS = ("/proc/", "/sys/", "/dev/", "/etc/", "/boot/")
NOT_LOG_FOLDERS = (".ssh", ".aws", ".kube")
EXIT_NO_FILE, EXIT_UNAVAILABLE = 66, 69

LIBC = ctypes.CDLL(None, use_errno=True)


class RefusedError(Exception):
    """The work cannot be done here; the text is for people."""


class NoFileError(RefusedError):
    """There is no such file in the root of the target."""


def read_all(fd: int, limit: int) -> bytes:
    pieces = []
    while limit > 0:
        piece = os.read(fd, min(limit, 1 << 16))
        if not piece:
            break
        pieces.append(piece)
        limit -= len(piece)
    return b"".join(pieces)


def write_all(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


class Target:
    """One process. Its directory in /proc is held open, so a reused pid is never mistaken for it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        try:
            self.pidfd = os.pidfd_open(pid)
        except (AttributeError, OSError):
            self.pidfd = -1  # Python before 3.9, Linux before 5.3
        self.folder = os.open(f"/proc/{pid}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.require_alive()
        status = self.read_status()
        self.uid = int(status["Uid"].split()[1])
        self.gid = int(status["Gid"].split()[1])
        self.inner_pid = int(status.get("NSpid", str(pid)).split()[-1])

    def require_alive(self) -> None:
        """Raise RefusedError when the process ended; reading through `folder` fails then, also for a reused pid."""
        try:
            self.read("stat", 1)
        except OSError:
            raise RefusedError(f"process {self.pid} ended") from None

    def read(self, name: str, limit: int = MAX_SMALL_BYTES) -> bytes:
        fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self.folder)
        try:
            return read_all(fd, limit)
        finally:
            os.close(fd)

    def open_regular(self, path: str, flags: int = 0, folder: "int | None" = None) -> int:
        """Open a regular file once `enter` was called. Raises RefusedError for anything else and what is no log."""
        # O_PATH opens nothing: no FIFO is waited for, no device is touched.
        result = os.open(path, os.O_PATH | os.O_CLOEXEC | flags, dir_fd=folder)
        try:
            if not stat.S_ISREG(os.fstat(result).st_mode):
                raise RefusedError(f"{path} is not a regular file")
            resolved = os.readlink(str(result), dir_fd=self.own_files)
            if resolved.startswith(NOT_LOGS) or set(resolved.split("/")) & set(NOT_LOG_FOLDERS):
                raise RefusedError(f"{path} leads to a file that is not a log")
            reading = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
            return os.open(str(result), reading, dir_fd=self.own_files)
        finally:
            os.close(result)

    def read_status(self) -> "dict[str, str]":
        lines = self.read("status").decode("ascii", "replace").split("\n")
        return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}

    def shares_root(self) -> bool:
        mine, its = os.stat("/"), os.stat("root", dir_fd=self.folder)
        same = os.readlink("/proc/self/ns/mnt") == os.readlink("ns/mnt", dir_fd=self.folder)
        return same and (mine.st_dev, mine.st_ino) == (its.st_dev, its.st_ino)

    def enter(self) -> None:
        """Give up all rights but those of the target, in its root. Raises RefusedError unless that is verified."""
        own_status = os.open("/proc/self/status", os.O_RDONLY | os.O_CLOEXEC)
        self.own_files = os.open("/proc/self/fd", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        # From here on Python must import nothing: the path of its library would lead into the target's root.
        sys.path[:] = []
        sys.meta_path[:] = []
        sys.path_hooks[:] = []
        set_process(PR_SET_NO_NEW_PRIVS, 1)
        # From here on this process has the uid of the target and not more capabilities. Unless it is not dumpable,
        # the target may take its descriptors (pidfd_getfd, /proc/PID/fd) and control it (ptrace), and leave its root.
        set_process(PR_SET_DUMPABLE, 0)
        if os.geteuid() != 0:
            if (os.geteuid(), os.getegid()) != (self.uid, self.gid) or not self.shares_root():
                raise RefusedError(f"process {self.pid} is of another user or container: root is needed")
            os.chdir("/")
            return
        os.fchdir(self.folder)
        os.chroot("root")
        os.chdir("/")
        drop_bounding_set()
        os.setgroups([])
        os.setresgid(self.gid, self.gid, self.gid)
        os.setresuid(self.uid, self.uid, self.uid)
        set_process(PR_SET_DUMPABLE, 0)  # a change of the uid sets it to fs.suid_dumpable
        drop_capabilities()
        text = read_all(own_status, MAX_SMALL_BYTES).decode("ascii", "replace")
        now = {name: value.split() for name, _, value in (line.partition(":") for line in text.split("\n"))}
        rights = [int(value[0], 16) for name, value in now.items() if name.startswith("Cap")]
        users = now["Uid"] + now["Gid"] + now["Groups"] + now.get("NoNewPrivs", ["1"])
        if len(rights) < 4 or any(rights) or users != [str(self.uid)] * 4 + [str(self.gid)] * 4 + ["1"]:
            raise RefusedError("the rights of root could not be dropped")


def set_process(option: int, first: int) -> bool:
    return bool(LIBC.prctl(option, *map(ctypes.c_ulong, (first, 0, 0, 0))) == 0)


def drop_bounding_set() -> None:
    for capability in range(64):
        if not set_process(PR_CAPBSET_DROP, capability):
            break  # the first number that this kernel does not know; `enter` reads what is left
    set_process(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)


def drop_capabilities() -> None:
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    if LIBC.capset(ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)())) != 0:
        raise RefusedError(f"capset: {os.strerror(ctypes.get_errno())}")


class Jvm:
    """A HotSpot JVM, from inside of its root: the working directory is its /tmp."""

    def __init__(self, target: Target, until: float) -> None:
        self.target = target
        self.until = until
        self.socket_name = f".java_pid{target.inner_pid}"

    def call(self, command: str, limit: int) -> bytes:
        """Return what the JVM answers to one diagnostic command, at most `limit` bytes."""
        if not self.has_socket():
            self.start_listener()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as peer:
            self.connect(peer)
            self.require_same_process(peer)
            peer.settimeout(self.left_s())
            peer.sendall(b"1\0jcmd\0" + command.encode("ascii") + b"\0\0\0")
            answer = self.receive(peer, limit + 16)
        code, _, text = answer.partition(b"\n")
        if code != b"0" or not text:
            raise RefusedError("the Java process does not answer, or refuses the command")
        return text[:limit]

    def has_socket(self) -> bool:
        """Whether the listener's socket exists and belongs to the JVM alone, as the JDK checks it."""
        try:
            result = os.lstat(self.socket_name)
        except FileNotFoundError:
            return False
        if not stat.S_ISSOCK(result.st_mode) or result.st_uid != self.target.uid or result.st_mode & 0o077:
            raise RefusedError(f"/tmp/{self.socket_name} is not a socket of the Java process alone")
        return True

    def start_listener(self) -> None:
        """Ask the JVM by a file and SIGQUIT to open its socket, and remove the file in any case."""
        target = self.target
        if self.is_attach_disabled():
            raise RefusedError("the JVM was started with -XX:+DisableAttachMechanism")
        name, result = f".attach_pid{target.inner_pid}", False
        try:
            # A signal between the two statements would leave the file behind.
            signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
            try:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                os.close(os.open(name, flags, 0o600))
                result = True
            except FileExistsError:
                outcome = os.lstat(name)
                if not stat.S_ISREG(outcome.st_mode) or outcome.st_uid not in (0, target.uid):
                    raise RefusedError(
                        f"/tmp/{name} is there and is not a file of the Java process"
                    ) from None
            finally:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
            self.send_quit()
            until = min(self.until, time.monotonic() + START_LISTENER_S)
            while not self.has_socket():
                if time.monotonic() >= until:
                    raise RefusedError("the Java process does not open its attach socket")
                time.sleep(0.05)
        finally:
            if result:
                os.unlink(name)

    def is_attach_disabled(self) -> bool:
        """Return whether attach is disabled, by the JVM's performance data or its arguments. Neither is sent."""
        for folder_name in self.list_folders():
            try:
                flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
                folder = os.open(folder_name, flags)
                opened = self.target.open_regular(str(self.target.inner_pid), os.O_NOFOLLOW, folder)
            except (OSError, RefusedError):
                continue
            if os.fstat(opened).st_uid != self.target.uid:
                continue
            data = read_all(opened, MAX_SMALL_BYTES)
            entry = data.find(CAPABILITIES) - ENTRY_HEADER_BYTES
            if entry >= 0:
                value = entry + int.from_bytes(data[entry + 16 : entry + 20], sys.byteorder)
                return data[value : value + 1] == b"0"
        return NO_ATTACH in self.target.read("cmdline")

    def list_folders(self) -> "list[str]":
        """The folders of performance data in /tmp, one for each user."""
        with os.scandir(".") as entries:
            names = [entry.name for _, entry in zip(range(MAX_NAMES), entries)]  # noqa: B905 - Python 3.6
        return [name for name in names if name.startswith("hsperfdata_")][:64]

    def send_quit(self) -> None:
        """Send SIGQUIT, but only to what catches it: any other process would be ended by it."""
        target = self.target
        target.require_alive()
        now = target.read_status()
        if not int(now.get("SigCgt", "0"), 16) & 1 << (signal.SIGQUIT - 1):
            raise RefusedError("the JVM does not catch SIGQUIT (-Xrs, or it is still starting)")
        if now.get("State", "?")[:1] in "TtZX":
            raise RefusedError("the Java process is stopped")
        if target.pidfd >= 0:
            signal.pidfd_send_signal(target.pidfd, signal.SIGQUIT)
        else:
            os.kill(target.pid, signal.SIGQUIT)

    def connect(self, peer: socket.socket) -> None:
        while True:
            peer.settimeout(self.left_s())
            try:
                peer.connect(self.socket_name)
            except BlockingIOError:  # the queue of the listener is full
                time.sleep(0.05)
            else:
                return

    def require_same_process(self, peer: socket.socket) -> None:
        """Raise RefusedError unless the target itself listens; its socket may have been replaced after the check."""
        result = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        pid, uid = (int.from_bytes(result[at : at + 4], sys.byteorder) for at in (0, 4))
        if (pid, uid) != (self.target.pid, self.target.uid):
            raise RefusedError(f"/tmp/{self.socket_name} belongs to process {pid} of user {uid}")
        self.target.require_alive()

    def receive(self, peer: socket.socket, limit: int) -> bytes:
        pieces = []
        while limit > 0:
            peer.settimeout(self.left_s())
            piece = peer.recv(min(limit, 1 << 16))
            if not piece:
                break
            pieces.append(piece)
            limit -= len(piece)
        return b"".join(pieces)

    def left_s(self) -> float:
        left_s = self.until - time.monotonic()
        if left_s <= 0:
            raise RefusedError("the Java process did not answer in time")
        return left_s


def attach_jvm(pid: int, limit: int, until: float, command: str) -> None:
    target = Target(pid)
    maps = target.read("maps", MAX_MAPS_BYTES)
    if b"/libjvm.so\n" not in maps and b"/libjvm.so (deleted)\n" not in maps:
        raise RefusedError(f"process {pid} is not a HotSpot JVM: it maps no libjvm.so")
    target.enter()
    # Relative to a descriptor, so that /tmp is resolved once; the socket and the file are names in it.
    folder = os.open("/tmp", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    os.fchdir(folder)
    write_all(Jvm(target, until).call(command, limit))


def read_file(path: str, limit: int, pids: "list[int]") -> None:
    """Write the end of a file as the first of the target's users that may read it."""
    seen: set[tuple[int, int, int, int]] = set()
    last: RefusedError = RefusedError("no process of the target is left")
    for pid in pids:
        try:
            target = Target(pid)
            root = os.stat("root", dir_fd=target.folder)
        except (OSError, RefusedError):
            continue
        rights = (target.uid, target.gid, root.st_dev, root.st_ino)
        if rights in seen or len(seen) >= 16:
            continue
        seen.add(rights)
        from_child, to_parent = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(from_child)
            os._exit(end_with(lambda: read_as(target, path, limit), to_parent))  # noqa: B023
        os.close(to_parent)
        reason = read_all(from_child, 4096).decode("ascii", "replace")
        os.close(from_child)
        code = os.waitpid(child, 0)[1]
        if code == 0:
            return
        last = NoFileError(reason) if code >> 8 == EXIT_NO_FILE else RefusedError(reason or "it was ended")
    raise last


def read_as(target: Target, path: str, limit: int) -> None:
    target.enter()
    try:
        content = target.open_regular(path)
    except FileNotFoundError:
        raise NoFileError(f"there is no file {path} in the root of the target") from None
    state = os.fstat(content)
    os.lseek(content, max(0, state.st_size - limit), os.SEEK_SET)
    write_all(b"%d\n" % int(state.st_mtime))
    left = min(limit, state.st_size)
    while left > 0:
        piece = os.read(content, min(left, 1 << 18))
        if not piece:
            break
        write_all(piece)
        left -= len(piece)


ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)


def stop_on_signal(number: int, frame: object) -> None:
    del frame
    raise RefusedError("it took too long" if number == signal.SIGALRM else "it was stopped")


def end_with(work: "object", errors: int) -> int:
    """Return the exit status of `work`. A traceback is never written: it would read files of the target's root."""
    try:
        work()  # type: ignore[operator]
    except NoFileError as error:
        text, code = str(error), EXIT_NO_FILE
    except RefusedError as error:
        text, code = str(error), EXIT_UNAVAILABLE
    except BaseException as error:  # noqa: BLE001
        text, code = f"{type(error).__name__}: {error}", EXIT_UNAVAILABLE
    else:
        return 0
    os.write(errors, text.encode("ascii", "backslashreplace")[:1000] + b"\n")
    return code


def run() -> None:
    mode, what, limit, seconds, *rest = sys.argv[1:]
    for number in ENDING:
        signal.signal(number, stop_on_signal)
    signal.alarm(int(seconds) + 1)
    if mode == "attach":
        attach_jvm(int(what), int(limit), time.monotonic() + int(seconds), rest[0])
    else:
        read_file(what, int(limit), list(map(int, rest)))


if __name__ == "__main__":
    os._exit(end_with(run, 2))
