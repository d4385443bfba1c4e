"""The definition of a cause."""

from __future__ import annotations

from dataclasses import dataclass

from collectors.contract import Text


@dataclass(frozen=True, slots=True)
class Cause:
    """One root cause. Its ID is part of the API and never changes.

    `what` describes the effect, `fix` the change, `risk` its side effects and the rollback, `verify` the expected
    result. `explains` are causes that are its consequences and are not named with it. `mechanisms` are the activities
    of threads (see `service_time.activities`) through which it makes requests slow; none for a cause that makes them
    fail or that has no single way. With `waits_for_peer`, the wait for the peer that its place names is one of them.
    `tested_by` are the collectors of a later stage that decide it. `proven_by` are the
    faults of the fault lab in which it was named correctly; without one, its confidence is at most `possible`.
    `needs_room` is whether it claims that more workers would help, which needs room in what they wait for.
    `stops_program` is whether no thread of a program runs while it acts: requests queue although threads are free.
    `takes_no_time` is whether requests fail at once and none is slow: that requests wait is then no harm of it.
    """

    id: str
    title: Text
    what: Text
    fix: Text
    risk: Text
    verify: Text
    explains: tuple[str, ...] = ()
    mechanisms: tuple[str, ...] = ()
    waits_for_peer: bool = False
    tested_by: tuple[str, ...] = ()
    proven_by: tuple[str, ...] = ()
    needs_room: bool = False
    stops_program: bool = False
    takes_no_time: bool = False
