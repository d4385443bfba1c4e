"""Hardware that fails: disks that cannot be read, memory that errs, a network card whose line comes and goes.

Emulated hardware fails as qemu's monitor or a list of bad sectors defines, and the guest's kernel takes it for
real. What it lacks are the retries of real disks, which try for seconds before they give up.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.guest import DATA, Guest
from lab.guest_service import LabService, guest_scenario
from lab.scenario import Live

PAGE = 4096
PAGES_PER_MB = 256
# IA32_MCi_STATUS: valid, enabled, with an address and further words. A memory controller's read error that was
# corrected, counted once; and one that a scrubber found and that is to be dealt with, but not at once.
CORRECTED = 0x9C00_0040_0000_009F
SCRUBBED = 0xBD00_0000_0000_00C0
GOES_ON = 0x5  # IA32_MCG_STATUS: in progress, and the program can go on
MEMORY_BANK = 8
POLLED = "/sys/devices/system/machinecheck/machinecheck0/check_interval"
# The address of a page of the heap: bits 0..54 of its word in pagemap, bit 63 when it is in memory.
LOCATE = """
import re, struct
heap = max((m for m in re.findall(r"^([0-9a-f]+)-([0-9a-f]+) rw", open("/proc/{pid}/maps").read(), re.M)),
           key=lambda m: int(m[1], 16) - int(m[0], 16))
with open("/proc/{pid}/pagemap", "rb") as pages:
    pages.seek((int(heap[0], 16) // 4096 + {page}) * 8)
    word, = struct.unpack("Q", pages.read(8))
print((word & (1 << 55) - 1) * 4096 if word >> 63 else 0)
"""
ERRORS_LOGGED = "dmesg | grep -c {what} || :"


@contextmanager
def _again_and_again(act: Callable[[], None], pause_s: Callable[[], float]) -> Iterator[None]:
    """Acts at once, and after every pause, until the end."""
    over = threading.Event()

    def repeat() -> None:
        act()
        while not over.wait(pause_s()):
            act()

    acting = threading.Thread(target=repeat, daemon=True)
    acting.start()
    try:
        yield
    finally:
        over.set()
        acting.join()


def _logged(guest: Guest, what: str) -> Callable[[], dict[str, float]]:
    return lambda: {"logged": float(guest.sh(ERRORS_LOGGED.format(what=repr(what))))}


# -- disks -------------------------------------------------------------------------------------------------------


@contextmanager
def _bad_sectors(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: some pages of the table cannot be read any more."""
    table_mb, rate, lookups = rng.randrange(16, 32), rng.randrange(12, 20), rng.randrange(2, 5)
    pages = table_mb * PAGES_PER_MB
    bad = rng.sample(range(pages), int(pages * rng.uniform(0.02, 0.06)))
    with Guest(disk_files={"table": table_mb}, disk_kind="scsi", bad_pages={"table": bad}) as guest:
        service = LabService(guest, rng)
        service.items(table=f"{DATA}/table", lookups=lookups)
        service.baseline(rate)
        guest.spoil()
        yield service.live(
            more=_logged(guest, "critical medium error"),
            table_mb=table_mb, bad=len(bad), rate=rate, lookups=lookups,
        )  # fmt: skip


@contextmanager
def _worn_flash(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Flash that is worn out and reports it; a process that touches a lost page of the mapped catalog dies."""
    catalog_mb, rate, lookups = rng.randrange(40, 60), rng.uniform(8.0, 14.0), rng.randrange(4, 9)
    pages = catalog_mb * PAGES_PER_MB
    bad = rng.sample(range(pages), rng.randrange(60, 120))
    with Guest(disk_files={"catalog": catalog_mb}, disk_kind="nvme", bad_pages={"catalog": bad}) as guest:
        service = LabService(guest, rng, "shop")
        service.limit(memory_max=(catalog_mb // 2 + 20) << 20)
        options = ("--catalog", f"{DATA}/catalog", "--lookups", lookups, "--threads", 4)
        service.shop(*options, supervised=True)
        service.baseline(rate, "--poisson")
        guest.spoil()
        guest.monitor.ask(
            "qom-set", path="/machine/peripheral/data", property="smart_critical_warning", value=4
        )
        yield service.live(
            more=_logged(guest, "critical medium error"),
            catalog_mb=catalog_mb, bad=len(bad), rate=rate, lookups=lookups,
        )  # fmt: skip


@contextmanager
def _sound_disk(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The disk is busy with a backup during the lookups, and healthy; log lines of a program only mention errors."""
    table_mb, rate, lookups = rng.randrange(16, 32), rng.randrange(8, 14), rng.randrange(2, 4)
    with Guest(disk_files={"table": table_mb}, disk_kind="scsi") as guest:
        service = LabService(guest, rng)
        service.items(table=f"{DATA}/table", lookups=lookups)
        service.baseline(rate)
        guest.start(
            ["sh", "-c", f"while :; do dd if={DATA}/table of=/dev/null bs=64k iflag=direct; sleep 1; done"],
            "backup",
        )
        guest.sh("echo '<11>backup: I/O error, dev sda, sector 4711: repaired' >/dev/kmsg")
        yield service.live(table_mb=table_mb, rate=rate, lookups=lookups)


# -- memory that errs --------------------------------------------------------------------------------------------


@contextmanager
def _failing_memory(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Most errors are corrected; occasionally one is not, and the page that it hit is taken from the service."""
    heap_mb, rate, touch = rng.randrange(30, 50), rng.randrange(10, 18), rng.randrange(300, 500)
    places, pause_s = rng.sample(range(500, 6000), 64), rng.uniform(2.5, 4.0)
    with Guest(cpu="Nehalem") as guest:
        service = LabService(guest, rng)
        service.items(supervised=True, heap_mb=heap_mb, touch=touch, workers=4)
        service.baseline(rate)
        guest.sh(f"echo 1 >{POLLED}")

        def err() -> None:
            place = places.pop() if places else 700
            pid = guest.sh("pgrep -n -x items || :").strip()
            result = (
                guest.sh(f"python3 -c '{LOCATE.format(pid=pid, page=place)}' 2>/dev/null || :") if pid else ""
            )
            address = int(result or 0)
            guest.monitor.machine_check(0, MEMORY_BANK, CORRECTED, 0, address or place * PAGE)
            if address:
                guest.monitor.machine_check(0, MEMORY_BANK + 1, SCRUBBED, GOES_ON, address)

        with _again_and_again(err, lambda: pause_s):
            yield service.live(
                more=_logged(guest, "Hardware Error"),
                heap_mb=heap_mb,
                rate=rate,
                touch=touch,
                pause_s=pause_s,
            )


@contextmanager
def _corrected_storm(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """No program is affected, because every error is corrected: yet the module will not last."""
    rate, cpu, pause_s = rng.uniform(8.0, 14.0), rng.randrange(2), rng.uniform(0.5, 1.5)
    base, lines = rng.randrange(0x0800_0000, 0x2000_0000, 0x1000), random.Random(rng.random())
    with Guest(cpu="Nehalem") as guest:
        service = LabService(guest, rng, "shop")
        service.shop("--threads", 4)
        service.baseline(rate, "--poisson")
        guest.sh(f"echo 2 >{POLLED}")

        def err() -> None:
            address = base + lines.randrange(64) * 64
            guest.monitor.machine_check(cpu, MEMORY_BANK, CORRECTED, 0, address)

        with _again_and_again(err, lambda: pause_s):
            yield service.live(more=_logged(guest, "Hardware Error"), rate=rate, cpu=cpu, pause_s=pause_s)


@contextmanager
def _exercise(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A monitoring agent tries its alarm: it writes the line itself, and the hardware is well."""
    rate, number = rng.randrange(10, 18), rng.randrange(2, 6)
    line = "<11>agent: [Hardware Error]: Machine check events logged (exercise)"
    with Guest(cpu="Nehalem") as guest:
        service = LabService(guest, rng)
        service.items(burn_us=1500)
        service.baseline(rate)
        guest.sh(f"for turn in $(seq {number}); do echo '{line}' >/dev/kmsg; done")
        yield service.live(more=_logged(guest, "Hardware Error"), rate=rate, number=number)


# -- a network card ----------------------------------------------------------------------------------------------


@contextmanager
def _loose_plug(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The line of the service's card is away for a moment, every few seconds; the other card is for managing."""
    rate, away_s, gap_s = rng.randrange(12, 20), rng.uniform(0.5, 1.0), rng.uniform(3.0, 4.5)
    yield from _flapping(rng, "e1000", rate, (), lambda: away_s, lambda: gap_s)


@contextmanager
def _dying_port(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The switch's port goes away at random, and for longer."""
    rate, mean_gap_s, chance = rng.uniform(8.0, 14.0), rng.uniform(1.5, 2.5), random.Random(rng.random())
    yield from _flapping(
        rng, "virtio-net-pci", rate, ("--poisson",),
        lambda: chance.uniform(0.8, 1.8), lambda: 0.5 + chance.expovariate(1 / mean_gap_s),
    )  # fmt: skip


def _flapping(
    rng: random.Random, card: str, rate: float, how: tuple[str, ...],
    away_s: Callable[[], float], gap_s: Callable[[], float],
) -> Iterator[Live]:  # fmt: skip
    with Guest(card=card) as guest:
        service = LabService(guest, rng)
        service.items(burn_us=1500)
        service.baseline(rate, *how)
        up = False

        def turn() -> None:
            nonlocal up
            guest.monitor.set_link(up)
            up = not up

        # After the line went away it is `up` that comes next.
        with _again_and_again(turn, lambda: away_s() if up else gap_s()):
            yield service.live(counter="cat /sys/class/net/eth1/carrier_changes", rate=rate, card=card)


@contextmanager
def _spare_card(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A spare card has no cable, and its line went up and down while it was being fitted; no program uses it."""
    rate, turns = rng.randrange(12, 20), rng.randrange(1, 4)
    with Guest(spare="e1000") as guest:
        service = LabService(guest, rng)
        service.items(burn_us=1500)
        for _ in range(turns):
            guest.monitor.set_link(False)
            guest.monitor.set_link(True)
        guest.monitor.set_link(False)
        service.baseline(rate)
        yield service.live(rate=rate, turns=turns)


SCENARIOS = (
    guest_scenario(
        "failing-disk", "fault", "failing-disk", "failing-disk",
        "Some sectors of a SCSI disk cannot be read any more; requests that need them fail.", _bad_sectors,
    ),
    guest_scenario(
        "failing-disk-validation", "validation", "failing-disk", "failing-disk",
        "Worn flash loses pages of a mapped catalog, and the shop dies whenever it touches one.", _worn_flash,
    ),
    guest_scenario(
        "failing-disk-decoy", "decoy", "failing-disk", "",
        "A backup keeps the disk busy and its log lines speak of an error; the disk is sound.", _sound_disk,
    ),
    guest_scenario(
        "hardware-error", "fault", "hardware-error", "hardware-error",
        "Memory errs: most is corrected, but the service occasionally loses a page and is killed.", _failing_memory,
    ),
    guest_scenario(
        "hardware-error-validation", "validation", "hardware-error", "hardware-error",
        "A memory module errs all the time, and everything is corrected: clients see nothing yet.", _corrected_storm,
    ),
    guest_scenario(
        "hardware-error-decoy", "decoy", "hardware-error", "",
        "An agent tries its alarm and writes lines about hardware errors; there are none.", _exercise,
    ),
    guest_scenario(
        "nic-link", "fault", "nic-link", "nic-link-degraded",
        "The line of the service's network card is away for a moment every few seconds.", _loose_plug,
    ),
    guest_scenario(
        "nic-link-validation", "validation", "nic-link", "nic-link-degraded",
        "The port that another card hangs on goes away at random, for up to two seconds.", _dying_port,
    ),
    guest_scenario(
        "nic-link-decoy", "decoy", "nic-link", "",
        "A spare card has no cable; its line moved while it was fitted, and it is not in use.", _spare_card,
    ),
)  # fmt: skip
