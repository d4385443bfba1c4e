"""Compute the timeouts for a host from its measured delay.

Unhealthy hosts are slow, and the timeouts of a healthy host would report them as unreachable. Timeouts therefore grow
with the measured delay, up to a maximum per host. On a healthy host, a dead connection is detected in 20 seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

HEALTHY_SILENCE_S = 20.0
MAX_HEARTBEAT_S = 5.0


@dataclass(frozen=True, slots=True)
class Timeouts:
    """The limits of one run, in seconds.

    Attributes:
        silence_s: maximum time without data from the host.
        runner_silence_s: maximum time of the runner without data from the server.
        beat_s: interval of heartbeats.
        deadline_s: maximum duration on the host.
        total_s: maximum duration at the server.
    """

    silence_s: float
    runner_silence_s: float
    beat_s: float
    deadline_s: float
    total_s: float


def compute_silence_timeout_s(slowest_s: float, max_silence_s: float) -> float:
    """Return the maximum silence of a host, in seconds. `slowest_s` is its slowest response so far."""
    return min(max_silence_s, max(HEALTHY_SILENCE_S, 8 * slowest_s))


def compute_timeouts(
    host_deadline_s: float, round_trip_s: float, login_s: float, max_silence_s: float
) -> Timeouts:
    """Return the limits of a run that takes at most `host_deadline_s` on a healthy host.

    `login_s` is the duration of the login. A login takes about ten steps on the host, including forks, so it counts as
    several round trips.
    """
    silence = compute_silence_timeout_s(max(round_trip_s * 4, login_s), max_silence_s)
    runner = silence * 0.75
    deadline = host_deadline_s + min(10 * login_s, 2 * max_silence_s)
    return Timeouts(
        silence_s=silence,
        runner_silence_s=runner,
        beat_s=min(MAX_HEARTBEAT_S, runner / 3),
        deadline_s=deadline,
        total_s=deadline + silence + 120,
    )


def compute_connect_timeout_s(last_connect_s: float | None, max_silence_s: float) -> float:
    """Return the timeout of a TCP connection in seconds: three lost SYNs take 15 s; a slow host gets more."""
    return min(max_silence_s, max(20.0, 8 * (last_connect_s or 0.0)))
