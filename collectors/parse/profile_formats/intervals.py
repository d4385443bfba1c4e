"""Nested calls with a begin and an end → samples: the time in which each stack was the innermost one."""

from __future__ import annotations

from dataclasses import dataclass, field

from collectors.parse.profile_formats.table_builder import TableBuilder, Task


@dataclass(slots=True)
class CallIntervals:
    """The calls of one thread, in any order. Times are nanoseconds."""

    calls: list[tuple[int, int, int]] = field(default_factory=list)  # begin, end, frame
    _open: list[int] = field(default_factory=list)  # rows of `calls`
    _last_ns: int = 0

    def add_call(self, begin_ns: int, end_ns: int, frame: int) -> None:
        """Add a call with both times."""
        self.calls.append((begin_ns, end_ns, frame))
        self._last_ns = max(self._last_ns, end_ns)

    def begin_call(self, t_ns: int, frame: int) -> None:
        """Begin a call inside of the last one that has not ended."""
        self._open.append(len(self.calls))
        self.calls.append((t_ns, t_ns, frame))
        self._last_ns = max(self._last_ns, t_ns)

    def end_call(self, t_ns: int) -> None:
        """End the innermost call; an end without a begin is ignored, as its begin was before the recording."""
        if self._open:
            row = self._open.pop()
            begin_ns, _, frame = self.calls[row]
            self.calls[row] = (begin_ns, max(t_ns, begin_ns), frame)
        self._last_ns = max(self._last_ns, t_ns)

    def add_samples(self, builder: TableBuilder, event: int, task: Task) -> None:
        """Add the time of each stack as samples; calls without an end last as long as the thread's last event.

        A call that outlasts its caller is cut at the end of the caller.
        """
        while self._open:
            self.end_call(self._last_ns)
        order = sorted(range(len(self.calls)), key=lambda row: (self.calls[row][0], -self.calls[row][1], row))
        stack: list[tuple[int, int]] = []  # end, node
        now = 0

        def leave_until(t_ns: int) -> None:
            nonlocal now
            while stack and stack[-1][0] <= t_ns:
                end_ns, node = stack.pop()
                builder.add_sample(event, now, end_ns - now, task, node)
                now = end_ns

        for row in order:
            begin_ns, end_ns, frame = self.calls[row]
            leave_until(begin_ns)
            if stack:
                builder.add_sample(event, now, begin_ns - now, task, stack[-1][1])
                end_ns = min(end_ns, stack[-1][0])
            now = begin_ns
            stack.append((end_ns, builder.extend(stack[-1][1] if stack else task.root, [frame])))
        leave_until(1 << 62)
