"""The text of `perf script` over scheduler tracepoints → SchedEvents. Reads sched_switch, sched_waking,
sched_wakeup and sched_wakeup_new, in the two ways in which perf prints their fields, and lost-event lines.

Only lines of these events matter; a task's name cannot hold enough characters to forge one (15 bytes).
Source of the formats: include/trace/events/sched.h and libtraceevent's plugin_sched_switch of Linux.
"""

from __future__ import annotations

import re
from array import array

import numpy as np

from collectors.contract import Sentence
from collectors.parse.perf import perf_lines
from collectors.profiles.limits import (
    DEFAULT,
    ImportRefusedError,
    Readable,
    ReaderLimits,
    limit_error,
    to_printable,
)
from collectors.profiles.schedule_builder import SchedEvents
from collectors.profiles.scheduling import STATES

PARSER_VERSION = 1
CHUNK = 1 << 20
EVENTS_MAX = 20_000_000
TASKS_MAX = 1_000_000

_HEAD = re.compile(
    rb"(?:(-?\d{1,10})/)?(-?\d{1,10}) +\[(\d{1,6})\] +([0-8]?\d{1,9})\.(\d{1,9}): *(?:\d+ +)?$"
)
_HEAD_MAX = 80
_SWITCH = re.compile(
    rb" *prev_comm=(.{0,64}?) prev_pid=(\d{1,10}) prev_prio=(-?\d{1,9}) prev_state=([A-Za-z?]?)\S{0,20}"
    rb" ==> next_comm=(.{0,64}?) next_pid=(\d{1,10}) next_prio=(-?\d{1,9})"
)
_SWITCH_SHORT = re.compile(
    rb" *(.{0,64}?):(\d{1,10}) \[(-?\d{1,9})\] ([A-Za-z?])\S{0,20} ==> (.{0,64}?):(\d{1,10}) \[(-?\d{1,9})\]"
)
_WAKING = re.compile(rb" *comm=(.{0,64}?) pid=(\d{1,10}) prio=(-?\d{1,9})")
_WAKING_SHORT = re.compile(rb" *(.{0,64}?):(\d{1,10}) \[(-?\d{1,9})\]")
_SWITCH_MARK = b"sched:sched_switch:"
_WAKING_MARKS = (b"sched:sched_waking:", b"sched:sched_wakeup:", b"sched:sched_wakeup_new:")


def parse_perf_sched(source: Readable, limits: ReaderLimits = DEFAULT) -> SchedEvents:
    """Read all of `source`; times are nanoseconds of perf's clock. Other events are skipped.

    Raises WrongFormat (`import.not_sched`) where there is no switch at all, LimitExceeded for long lines.
    """
    reader = _Reader()
    carry, line = b"", 1
    while piece := source.read(CHUNK):
        carry += piece
        cut = carry.rfind(b"\n")
        if cut >= 0:
            reader.lines(carry[:cut])
            line += carry.count(b"\n", 0, cut) + 1
            carry = carry[cut + 1 :]
        if len(carry) > limits.line:
            raise limit_error("line", limits.line, line)
    reader.lines(carry)
    return reader.finish()


class _Reader:
    def __init__(self) -> None:
        self.switches = tuple(array(code) for code in "qiiiB")  # t_ns, cpu, prev, next, state
        self.wakings = tuple(array(code) for code in "qiii")  # t_ns, tid, waker, cpu
        self.comm: dict[bytes, bytes] = {}
        self.pid: dict[bytes, bytes] = {}
        self.prio: dict[bytes, bytes] = {}
        self.lost = self.unreadable = 0

    def lines(self, text: bytes) -> None:
        """Read whole lines."""
        if b"PERF_RECORD_LOST" in text:
            self.lost += sum(min(int(match[1][:18]), 1 << 53) for match in perf_lines.LOST.findall(text))
        result = self._matches(text, _SWITCH_MARK, _SWITCH, _SWITCH_SHORT)
        if result:
            (
                _,
                _,
                cpu,
                seconds,
                fraction,
                prev_comm,
                prev,
                prev_prio,
                state,
                next_comm,
                following,
                next_prio,
            ) = zip(*result, strict=True)
            self.comm.update(zip(prev, prev_comm, strict=True))
            self.comm.update(zip(following, next_comm, strict=True))
            self.prio.update(zip(prev, prev_prio, strict=True))
            self.prio.update(zip(following, next_prio, strict=True))
            for column, values in zip(
                self.switches,
                (
                    _parse_times(seconds, fraction),
                    map(int, cpu),
                    map(_parse_ids, prev),
                    map(_parse_ids, following),
                    (_STATE_CODES.get(letter, len(STATES) - 1) for letter in state),
                ),
                strict=True,
            ):
                column.extend(values)
        for mark in _WAKING_MARKS:
            self._wakings(self._matches(text, mark, _WAKING, _WAKING_SHORT))
        if len(self.comm) > TASKS_MAX:
            raise limit_error("tasks", TASKS_MAX)
        if len(self.switches[0]) + len(self.wakings[0]) > EVENTS_MAX:
            raise limit_error("events", EVENTS_MAX)

    def _matches(
        self, text: bytes, mark: bytes, pattern: re.Pattern[bytes], short: re.Pattern[bytes]
    ) -> list[tuple[bytes, ...]]:
        """The fields of each line with `mark`: pid (or None), tid, cpu, seconds, fraction, and those of the
        event.
        """
        results: list[tuple[bytes, ...]] = []
        if mark not in text:
            return results
        for line in text.split(b"\n"):
            head, here, fields = line.partition(mark)
            if not here:
                continue
            task = _HEAD.search(head[-_HEAD_MAX:])
            event = pattern.match(fields) or short.match(fields)
            if task is None or event is None:
                self.unreadable += 1
                continue
            if task[1] is not None:
                self.pid[task[2]] = task[1]
            results.append(task.groups() + event.groups())
        return results

    def _wakings(self, result: list[tuple[bytes, ...]]) -> None:
        if not result:
            return
        _, waker, cpu, seconds, fraction, comm, woken, prio = zip(*result, strict=True)
        self.comm.update(zip(woken, comm, strict=True))
        self.prio.update(zip(woken, prio, strict=True))
        self.wakings[0].extend(_parse_times(seconds, fraction))
        self.wakings[1].extend(map(_parse_ids, woken))
        self.wakings[2].extend(map(_parse_ids, waker))
        self.wakings[3].extend(map(int, cpu))

    def finish(self) -> SchedEvents:
        """The events. Raises where there is no switch."""
        if not self.switches[0]:
            raise ImportRefusedError(Sentence("import.not_sched", {"unreadable": self.unreadable}))
        t_ns, cpu, prev, following, state = (np.array(column) for column in self.switches)
        return SchedEvents(
            t_ns=t_ns,
            cpu=cpu,
            prev=prev,
            next=following,
            state=state,
            wake_t_ns=np.array(self.wakings[0]),
            wake_tid=np.array(self.wakings[1]),
            waker_tid=np.array(self.wakings[2]),
            wake_cpu=np.array(self.wakings[3]),
            comm={_parse_ids(k): to_printable(v.decode("utf-8", "replace")) for k, v in self.comm.items()},
            pid={_parse_ids(k): _parse_ids(v) for k, v in self.pid.items()},
            prio={_parse_ids(k): int(v) for k, v in self.prio.items()},
            lost=self.lost,
            unreadable=self.unreadable,
        )


_STATE_CODES = {bytes([ord(letter)]): code for code, letter in enumerate(STATES)}


def _parse_ids(digits: bytes) -> int:
    return min(int(digits), (1 << 31) - 1)


def _parse_times(seconds: tuple[bytes, ...], fraction: tuple[bytes, ...]) -> list[int]:
    return [int(s) * 1_000_000_000 + int(f.ljust(9, b"0")) for s, f in zip(seconds, fraction, strict=True)]
