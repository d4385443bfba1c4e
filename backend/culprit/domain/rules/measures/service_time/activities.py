"""Activities of threads, and which of them are work, waits of a request, or idleness.

The names are those of the column `activity` of the table `thread_time`; `throttled` is split from `runnable` here, and
`held` from `client`.
"""

from __future__ import annotations

#: The state of a thread that a capture could not read, and the time of requests that no thread was seen with.
UNKNOWN = "unknown"
RUNNING = "running"
RUNNABLE = "runnable"
THROTTLED = "throttled"
LOCK = "lock"
PEER = "peer"
DNS = "dns"
FILESYSTEM = "filesystem"
#: A thread that waits for the end of asynchronous requests to a disk, if there are any.
AIO = "aio"
#: A thread that a tracer, a signal or its control group has stopped.
STOPPED = "tracer"
CLIENT = "client"
#: A thread that a silent client holds while other connections wait to be accepted.
HELD = "held"

#: A thread in one of these works on something, or waits for something that it needs to continue.
BUSY = frozenset(
    {
        *(
            RUNNING,
            RUNNABLE,
            THROTTLED,
            "disk",
            "fault",
            FILESYSTEM,
            "permission",
            LOCK,
            PEER,
            DNS,
            STOPPED,
        ),
    }
)
#: A thread in one of these waits for its next request. It is never a request's wait.
IDLE = frozenset({"accept", CLIENT, "events", "signal"})
#: A thread in one of these is idle, or a request waits in it: both look the same. Only requests that are in progress
#: and in no other thread make it busy.
AMBIGUOUS = frozenset({"condition", "park", "semaphore", "child", "pipe", "sleep", AIO, UNKNOWN})
#: A thread in one of these may wait for another thread of its process.
INSIDE_WAITS = frozenset({"condition", "park", "semaphore"})
#: Activities whose amounts are counted by the kernel, without sampling.
EXACT = frozenset({RUNNING, RUNNABLE, THROTTLED})
#: A thread that writes here waits for a reader who is slow.
_WRITES = ("write", "writev", "sendto", "sendmsg", "sendfile", "send", "splice")


def classify_activity(activity: str, operation: str) -> str:
    """Return `busy`, `idle` or `ambiguous`.

    A thread that writes to a full pipe or to a client that does not read is busy. An activity that is not known here
    is ambiguous: it is counted only where a request needs it.
    """
    if activity in ("pipe", CLIENT) and operation in _WRITES:
        return "busy"
    if activity in BUSY:
        return "busy"
    return "idle" if activity in IDLE else "ambiguous"
