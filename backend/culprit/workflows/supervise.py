"""Watches over one session: bounded from outside, called off, given up when the lease is lost.

The child may hang anywhere; nothing here waits for it longer than the limit of the stage that it is in. The
lease is renewed because the host was heard (or, before that, because a login may still take so long), never
by a clock of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import structlog

from culprit.core.patience import Waits, connect_s, waits
from culprit.infra.forkserver import Child, Hungup, Message
from culprit.infra.ssh_errors import FINAL, TIMEOUT_KIND, Stage
from culprit.workflows.homecoming import Homecoming

Json = dict[str, Any]
LOOK_EVERY_S = 0.25
log = structlog.get_logger("culprit.supervise")
SPARE_S = 2.0
RENEW_EVERY_S = 3.0
#: Collectors change state in bursts; each burst is one transaction and one piece of news.
NEWS_EVERY_S = 0.5
CANCEL_LIMIT_S = 4.0
#: How long messages are still read that were sent before a limit passed.
REST_S = 1.0


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the one who asks for a session decides.

    `start` makes the order for the command once it is known how slow the host is; `keep` is told how things
    stand every few seconds and says whether to go on; `called_off` and `given_up` are looked at all the time.
    `told` hears each line of something that waits on a host, at once.
    """

    max_silence_s: float
    connect_s: float
    host_deadline_s: float
    start: Callable[[Waits], Message]
    keep: Callable[[Homecoming, Json], bool]
    called_off: Callable[[], bool]
    given_up: Callable[[], bool]
    told: Callable[[str], None] | None = None


class Lost(Exception):
    """The session is not ours any more: the lease went to somebody else, or this worker stops."""


class Died(Exception):
    """The process of the session is gone, by no fault of the host."""


@dataclass(slots=True)
class _Watch:
    child: Child
    wishes: Wishes
    home: Homecoming = field(default_factory=Homecoming)
    progress: Json = field(default_factory=dict)
    stage: Stage = "resolve"
    until: float = 0.0
    silence_s: float = 0.0
    total_until: float = 0.0
    cancel_until: float = 0.0
    kept_at: float = 0.0
    started_at: float = 0.0
    changed: bool = False


def supervise(child: Child, wishes: Wishes) -> Homecoming:
    """Follows a session to its end, and returns what came of it; raises Lost or Died.

    Whatever happens, the child is not waited for any more when this returns; whoever made it kills it.
    """
    watch = _Watch(child, wishes)
    watch.kept_at = time.monotonic()
    _limit(watch, "resolve")
    while True:
        now = time.monotonic()
        try:
            message = child.line.receive(LOOK_EVERY_S)
        except Hungup as error:
            raise Died from error
        if message is not None and _hear(watch, message):
            return watch.home
        if _overdue(watch, now) is not None and _is_over(watch):
            return watch.home
        if wishes.given_up():
            raise Lost
        if wishes.called_off() and not watch.cancel_until:
            watch.cancel_until = now + CANCEL_LIMIT_S
            watch.home.cancelled = True
            _say(watch, {"cancel": 1})
        if now - watch.kept_at >= (NEWS_EVERY_S if watch.changed else RENEW_EVERY_S):
            watch.changed = False
            watch.kept_at = now
            if not wishes.keep(watch.home, watch.progress):
                raise Lost
            _say(watch, {"ok": 1})


def _say(watch: _Watch, message: Message) -> None:
    try:
        watch.child.line.send(message)
    except Hungup:
        return  # what it still said is read first; its end is noticed there


def _limit(watch: _Watch, stage: Stage) -> None:
    """The child has limits of its own; these are for when it does not keep them."""
    wishes = watch.wishes
    seconds = wishes.connect_s if stage == "connect" else wishes.max_silence_s
    watch.stage, watch.until = stage, time.monotonic() + seconds + SPARE_S


def _overdue(watch: _Watch, now: float) -> tuple[str, float] | None:
    """Return the kind of the limit that has passed and since when it ran; None where there is time left."""
    if watch.cancel_until and now > watch.cancel_until:
        return "", 0.0
    if watch.total_until and now > watch.total_until:
        return "deadline", watch.total_until - watch.started_at
    if now > watch.until:
        return TIMEOUT_KIND[watch.stage], watch.until - watch.started_at
    return None


def _is_over(watch: _Watch) -> bool:
    """Hear what the child had already sent when a limit passed; return whether the session is over for all that."""
    try:
        until = time.monotonic() + REST_S
        while time.monotonic() < until and (message := watch.child.line.receive(0)) is not None:
            if _hear(watch, message):
                return True
    except Hungup:
        pass  # the limit had passed before: that is why it ends
    limit = _overdue(watch, time.monotonic())
    if limit is None:
        return False
    kind, seconds = limit
    if kind:
        _fail(watch.home, kind, seconds=round(seconds))
    return True


def _fail(home: Homecoming, kind: str, **params: str | int | float) -> None:
    home.kind = kind
    home.final = kind in FINAL
    home.failure = {"key": f"ssh.{kind}", "params": params}


def _hear(watch: _Watch, message: Message) -> bool:
    """Takes one message of the child; whether it was the last."""
    home = watch.home
    if "stage" in message:
        watch.started_at = time.monotonic()
        _limit(watch, message["stage"])
    elif "ready" in message:
        home.timings |= message["ready"]
        _start(watch)
    elif "heard" in message:
        if message["heard"] != home.bytes:
            home.bytes = message["heard"]
            _heard(watch)
    elif "frame" in message:
        home.take(message["frame"])
        home.began = True
        watch.changed = watch.changed or message["frame"]["kind"] in ("outcome", "snapshot")
        _heard(watch)
    elif "progress" in message:
        collector, state, elapsed_ms = message["progress"]
        before = watch.progress.get(collector, {})
        watch.progress[collector] = {
            "state": state,
            "elapsed_ms": elapsed_ms,
            "started_ns": before.get("started_ns") or (time.time_ns() if state == "running" else None),
            "ended_ns": before.get("ended_ns") or (None if state == "running" else time.time_ns()),
        }
        watch.changed = watch.changed or before.get("state") != state
        _heard(watch)
    elif "dropped" in message:
        home.dropped = message["dropped"]
    elif "said" in message:
        _heard(watch)
        if watch.wishes.told is not None:
            watch.wishes.told(message["said"])
    elif "ended" in message:
        home.status = message["ended"]
        home.timings |= message["timings"]
        home.round_trips_ms = message["rtt_ms"]
        home.text, home.heard_ns = message.get("text", ""), message.get("heard_ns")
        return True
    elif "error" in message:
        home.kind = message["error"]["kind"]
        home.final = home.kind in FINAL
        home.failure = {"key": f"ssh.{home.kind}", "params": message["error"]["params"]}
        return True
    elif "bug" in message:
        log.error("session_failed", trace=message["bug"])
        home.kind, home.final = "bug", True
        home.failure = {"key": "run.session_failed", "params": {}}
        return True
    return False


def _start(watch: _Watch) -> None:
    """Logged in: now it is known how slow this host is, and the command can be made."""
    timings = watch.home.timings
    login_s = sum(timings.get(f"{name}_ms", 0.0) for name in ("banner", "kex", "auth")) / 1000
    limits = waits(
        watch.wishes.host_deadline_s,
        timings.get("connect_ms", 0.0) / 1000,
        login_s,
        watch.wishes.max_silence_s,
    )
    order = watch.wishes.start(limits)
    order |= {"beat_s": limits.beat_s, "silence_s": limits.silence_s, "total_s": limits.total_s}
    _say(watch, {"start": order})
    watch.home.began = True
    watch.silence_s = limits.silence_s
    watch.total_until = time.monotonic() + limits.total_s + 3 * watch.wishes.max_silence_s
    _limit(watch, "channel")


def _heard(watch: _Watch) -> None:
    watch.stage = "stream"
    watch.started_at = time.monotonic()
    watch.until = watch.started_at + max(watch.silence_s, 1.0) + SPARE_S + 1.0


def first_connect_s(last_timings: Json, max_silence_s: float) -> float:
    """How long to wait for the TCP connection, from how long it took the last time."""
    last = last_timings.get("connect_ms")
    return connect_s(last / 1000 if isinstance(last, int | float) else None, max_silence_s)
