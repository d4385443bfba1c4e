"""Timeouts for a host, from its measured delay.

Unhealthy hosts are slow. The timeouts of a healthy host would report exactly those hosts as unreachable that are
under investigation. Timeouts therefore grow with the measured delay, up to a maximum per host. On a healthy host,
a dead connection is noticed in 20 seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

HEALTHY_SILENCE_S = 20.0
BEAT_MAX_S = 5.0


@dataclass(frozen=True, slots=True)
class Timeouts:
    """The limits of one run, in seconds.

    The server may hear nothing for `silence_s`, the runner for `runner_silence_s`; between heartbeats are
    `beat_s`; the whole run may take `deadline_s` on the host and `total_s` as seen from here.
    """

    silence_s: float
    runner_silence_s: float
    beat_s: float
    deadline_s: float
    total_s: float


def compute_silence_timeout_s(slowest_s: float, max_silence_s: float) -> float:
    """How long a host may be silent whose slowest answer so far took `slowest_s`."""
    return min(max_silence_s, max(HEALTHY_SILENCE_S, 8 * slowest_s))


def compute_timeouts(
    host_deadline_s: float, round_trip_s: float, login_s: float, max_silence_s: float
) -> Timeouts:
    """The limits of a run that a healthy host does within `host_deadline_s`, on one that is slower.

    `login_s` is the duration of the login. A login is some ten steps on the host, forks among them, so it counts as
    several round trips.
    """
    silence = compute_silence_timeout_s(max(round_trip_s * 4, login_s), max_silence_s)
    runner = silence * 0.75
    deadline = host_deadline_s + min(10 * login_s, 2 * max_silence_s)
    return Timeouts(
        silence_s=silence,
        runner_silence_s=runner,
        beat_s=min(BEAT_MAX_S, runner / 3),
        deadline_s=deadline,
        total_s=deadline + silence + 120,
    )


def compute_connect_timeout_s(last_connect_s: float | None, max_silence_s: float) -> float:
    """How long to wait for a TCP connection: three lost SYNs take 15 s; more for a host known to be slow."""
    return min(max_silence_s, max(20.0, 8 * (last_connect_s or 0.0)))
