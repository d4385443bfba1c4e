"""Clocks that are off, on a host with a time service that knows: the clock of a guest is its own."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.guest import Guest
from lab.guest_service import LabService, guest_scenario
from lab.scenario import Live

TIME_PORT = 11123
# The control socket is a Unix one; the log level is errors only.
CONFIG = """
server 127.0.0.1 port {port} iburst minpoll 0 maxpoll 1
cmdport 0
bindcmdaddress /run/chrony/chronyd.sock
user root
logchange 1000
maxslewrate {slew_ppm}
{more}
"""
SYNCED = """
for turn in $(seq 150); do
    chronyc -n tracking 2>/dev/null | grep -q "^Leap status *: Normal" && exit
    sleep 0.2
done
chronyc -n tracking >&2
exit 1
"""
# chrony forgets what it knew when the clock jumps, and needs some answers to know again.
NOTICED = """
for turn in $(seq 150); do
    chronyc -n tracking | awk '/^System time/ && $4 > 1 { far = 1 } /^Leap status *: Normal/ { exit !far }' && exit
    sleep 0.2
done
chronyc -n tracking >&2
exit 1
"""
OFFSET_MS = "chronyc -n tracking | awk '/^System time/ {print $4 * 1000}'"
TICK_US = 10_000


def _keep_time(
    guest: Guest, *, slew_ppm: int = 80_000, more: str = "", options: tuple[str, ...] = ()
) -> None:
    """chrony with one source that is right; back when it has found out how far off the clock is."""
    config = CONFIG.format(port=TIME_PORT, slew_ppm=slew_ppm, more=more)
    guest.sh(f"mkdir -p -m 750 /run/chrony; cat >/run/chrony.conf <<'END'\n{config}\nEND")
    guest.start(["python3", guest.program("true_time.py"), "--port", str(TIME_PORT)], "time")
    guest.start(["chronyd", "-n", "-f", "/run/chrony.conf", *options], "time")
    guest.sh(SYNCED)


def _off(guest: Guest) -> Callable[[], dict[str, float]]:
    return lambda: {"off_ms": abs(float(guest.sh(OFFSET_MS)))}


@contextmanager
def _set_by_hand(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the clock, which was set by hand; the time service may move it by minutes a day only."""
    rate, off_s, slew_ppm = (
        rng.randrange(10, 18),
        rng.choice((-1, 1)) * rng.randrange(20, 200),
        rng.randrange(100, 500),
    )
    with Guest() as guest:
        _keep_time(guest, slew_ppm=slew_ppm)
        service = LabService(guest, rng)
        service.items(burn_us=1500)
        service.baseline(rate)
        guest.sh(f"date -s @$(($(date +%s) + {off_s}))")
        guest.sh(NOTICED)
        yield service.live(more=_off(guest), rate=rate, off_s=off_s, slew_ppm=slew_ppm)


@contextmanager
def _may_only_watch(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The quartz is far off, and the time service was started as in a container: it watches, and may not set."""
    rate, tick_us = rng.uniform(8.0, 14.0), TICK_US + rng.choice((-1, 1)) * rng.randrange(60, 100)
    with Guest() as guest:
        _keep_time(guest, options=("-x",))
        service = LabService(guest, rng, "shop")
        service.shop("--threads", 4)
        service.baseline(rate, "--poisson")
        guest.sh(f"busybox adjtimex -q -t {tick_us}")
        yield service.live(more=_off(guest), rate=rate, tick_us=tick_us)


@contextmanager
def _kept(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The clock was off when the host started, and the quartz still is; the time service has corrected both."""
    rate, off_s, tick_us = rng.randrange(10, 18), rng.randrange(20, 200), TICK_US + rng.randrange(1, 4)
    with Guest() as guest:
        guest.sh(f"date -s @$(($(date +%s) + {off_s})); busybox adjtimex -q -t {tick_us}")
        _keep_time(guest, more="makestep 0.1 3")
        service = LabService(guest, rng)
        service.items(burn_us=1500)
        service.baseline(rate)
        yield service.live(more=_off(guest), rate=rate, off_s=off_s, tick_us=tick_us)


SCENARIOS = (
    guest_scenario(
        "clock-off", "fault", "clock-off", "clock-unsynchronised",
        "The clock was set by hand, and the time service needs days to correct it.", _set_by_hand,
    ),
    guest_scenario(
        "clock-off-validation", "validation", "clock-off", "clock-unsynchronised",
        "The clock runs away, and the time service may watch it only.", _may_only_watch,
    ),
    guest_scenario(
        "clock-off-decoy", "decoy", "clock-off", "",
        "The clock was off at the start and its quartz still is; the time service has corrected both.", _kept,
    ),
)  # fmt: skip
