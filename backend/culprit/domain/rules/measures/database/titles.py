"""Lock waits and idle transactions of PostgreSQL, as the titles of its processes show them."""

from __future__ import annotations

from collections.abc import Sequence

from collectors.contract import Text
from culprit.domain.rules.finding import Measurement, MissingData, Reading
from culprit.domain.rules.measures.derived import cite_rows
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow

NEEDS = (("postgres_titles",),)
#: Titles are read twice a second. Two samples less than the whole capture show a change.
_LEAST_INTERVAL_S, _CHANGE_S = 0.4, 1.2


def _read_rows(view: HostView) -> Sequence[TableRow] | MissingData:
    if not view.has_data("postgres_titles"):
        return MissingData(view.missing_reason(("postgres_titles",)))
    return view.rows("postgres_titles")


def _seconds(row: TableRow, name: str) -> float:
    return row.number(name) or 0.0


def _lock_wait(view: HostView) -> Reading:
    """The longest wait of a session for a lock, in seconds: at least that long, because it was seen at both ends."""
    rows = _read_rows(view)
    if isinstance(rows, MissingData):
        return rows
    waiting = [row for row in rows if _seconds(row, "waiting_s") > 0]
    if not waiting:
        return [Measurement(0.0, (), cite_rows(rows[:1]), len(rows))]
    longest = max(waiting, key=lambda row: (_seconds(row, "waiting_s"), row.text("pid")))
    detail: dict[str, str | int | float] = {"sessions": len(waiting), "title": longest.text("title")}
    return [
        Measurement(
            _seconds(longest, "waiting_s"),
            (),
            cite_rows(waiting),
            len(waiting),
            (),
            detail,
        )
    ]


def _count_waiting(view: HostView) -> Reading:
    """How many sessions wait for a lock on average, with the part of the busy sessions that they are.

    A sample finds each of them in its state with the chance of the time that it spends there (PASTA: the samples do not
    depend on the sessions).
    """
    rows = _read_rows(view)
    if isinstance(rows, MissingData):
        return rows
    if not (ticks := max((row.number("ticks") or 0.0 for row in rows), default=0.0)):
        return []
    waiting, active = (
        sum(row.number(name) or 0.0 for row in rows) for name in ("waiting_samples", "active_samples")
    )
    every = waiting + active
    detail: dict[str, str | int | float] = {"part": round(100.0 * waiting / every) if every else 0}
    if every and waiting:
        longest = max(rows, key=lambda row: (row.number("waiting_samples") or 0.0, row.text("pid")))
        detail["title"] = longest.text("title")
    return [Measurement(waiting / ticks, (), cite_rows(rows), round(ticks), (), detail)]


def _waiting_part(view: HostView) -> Reading:
    """Percent of the sessions with a command that wait for a lock."""
    reading = _count_waiting(view)
    if isinstance(reading, MissingData):
        return reading
    return [
        Measurement(float(item.detail["part"]), (), item.citations, item.sample_count, (), item.detail)
        for item in reading
    ]


def _idle_holder(view: HostView) -> Reading:
    """How long a session was idle in a transaction while another one waited, in seconds of the shorter of both.

    Only a session in a transaction holds a lock that others wait for. Where none was active for as long as the wait,
    the holder is one that is idle.
    """
    rows = _read_rows(view)
    if isinstance(rows, MissingData):
        return rows
    wait_s = max((_seconds(row, "waiting_s") for row in rows), default=0.0)
    idle = [row for row in rows if _seconds(row, "idle_in_transaction_s") > 0]
    active_s = max((_seconds(row, "active_s") for row in rows), default=0.0)
    if not wait_s or not idle or active_s >= wait_s:
        return [Measurement(0.0, (), cite_rows(rows), len(rows))] if rows else []
    longest = max(idle, key=lambda row: (_seconds(row, "idle_in_transaction_s"), row.text("pid")))
    value = min(wait_s, _seconds(longest, "idle_in_transaction_s"))
    detail: dict[str, str | int | float] = {"title": longest.text("title"), "sessions": len(idle)}
    return [Measurement(value, (), cite_rows(rows), len(rows), (), detail)]


def _new_waits(view: HostView) -> Reading:
    """Return how many sessions began or ended a wait for a lock during the capture.

    A session that waits from the first sample to the last may wait its turn by design: a scheduler on standby waits
    for the lock of its leader. The longest time that any session was in one state is as long as the capture.
    """
    rows = _read_rows(view)
    if isinstance(rows, MissingData):
        return rows
    whole_s = max(
        (_seconds(row, name) for row in rows for name in ("waiting_s", "idle_in_transaction_s", "active_s")),
        default=0.0,
    )
    whole_s = max(whole_s, max((_seconds(row, "ticks") for row in rows), default=0.0) * _LEAST_INTERVAL_S)
    new = [
        row
        for row in rows
        if _seconds(row, "waiting_s") > 0
        and (
            _seconds(row, "samples") < _seconds(row, "ticks")
            or _seconds(row, "waiting_s") < whole_s - _CHANGE_S
        )
    ]
    detail: dict[str, str | int | float] = {"title": new[0].text("title") if new else ""}
    return [Measurement(float(len(new)), (), cite_rows(new or rows[:1]), len(rows), (), detail)]


LOCK_WAIT = Measure(
    id="db.title_lock_wait_s",
    unit="s",
    title=Text("Longest wait of a session for a lock", "会话等锁的最长时间"),
    needs=NEEDS,
    read=_lock_wait,
)
IDLE_HOLDER = Measure(
    id="db.title_idle_holder_s",
    unit="s",
    title=Text("Time idle in a transaction while others wait", "他人等锁期间事务空闲的时间"),
    needs=NEEDS,
    read=_idle_holder,
)
NEW_WAITS = Measure(
    id="db.title_new_waits",
    unit="count",
    title=Text("Waits for a lock that begin or end", "采集期间开始或结束的等锁"),
    needs=NEEDS,
    read=_new_waits,
)
WAITING = Measure(
    id="db.title_waiting_count",
    unit="count",
    title=Text("Sessions that wait for a lock", "等锁的会话数"),
    needs=NEEDS,
    read=_count_waiting,
)
WAITING_PART = Measure(
    id="db.title_waiting_pct",
    unit="pct",
    title=Text("Busy sessions that wait for a lock", "忙碌会话中等锁的占比"),
    needs=NEEDS,
    read=_waiting_part,
)
