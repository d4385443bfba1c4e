"""Faults that need a kernel of their own: remote memory nodes, swap, and what limits do under cgroup v2 alone.

The guest is emulated: rates are small, and what the emulation does not slow down (remote memory) is proven by the
kernel's counters.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.guest import APP_PORT, DATA, GROUPS, Guest
from lab.guest_service import LabService, guest_scenario
from lab.scenario import Live

MIB = 1 << 20
# glibc raises its threshold with use and then keeps what was freed: with it fixed, every request allocates again.
FRESH_MEMORY = ("env", "MALLOC_MMAP_THRESHOLD_=131072")
REMOTE_PAGES = "grep -h other_node /sys/devices/system/node/node*/numastat | awk '{n += $2} END {print n}'"
SWAPPED = "awk '$1 == \"pswpin\" {print $2}' /proc/vmstat"


# -- memory nodes ------------------------------------------------------------------------------------------------


@contextmanager
def _wrong_node(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the memory node of the group, which is no longer the one that its CPU belongs to."""
    node, cache_kb, rate = rng.randrange(2), rng.randrange(1500, 3000), rng.randrange(12, 24)
    with Guest() as guest:
        service = LabService(guest, rng)
        service.limit(cpuset_cpus=node, cpuset_mems=node)
        service.items(*FRESH_MEMORY, cache_kb=cache_kb)
        service.baseline(rate, counter=REMOTE_PAGES)
        service.limit(cpuset_mems=1 - node)
        service.items(*FRESH_MEMORY, cache_kb=cache_kb)
        yield service.live(counter=REMOTE_PAGES, node=node, cache_kb=cache_kb, rate=rate)


@contextmanager
def _bound_by_start_script(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """No control group is involved: the start script binds memory to one node and threads to the other."""
    node, basket_kb, rate = rng.randrange(2), rng.randrange(34_000, 40_000), rng.uniform(2.0, 4.0)
    baskets = ("--threads", 3, "--basket-kb", basket_kb, "--baskets", 2)
    with Guest() as guest:
        service = LabService(guest, rng, "shop")
        service.shop(*baskets, before=("numactl", f"--cpunodebind={node}", f"--membind={node}"))
        service.baseline(rate, "--poisson", counter=REMOTE_PAGES)
        service.shop(*baskets, before=("numactl", f"--cpunodebind={node}", f"--membind={1 - node}"))
        yield service.live(counter=REMOTE_PAGES, node=node, basket_kb=basket_kb, rate=rate)


@contextmanager
def _interleaved(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Memory is spread over both nodes on purpose, for threads that run on both."""
    cache_kb, rate = rng.randrange(1500, 3000), rng.randrange(12, 24)
    with Guest() as guest:
        service = LabService(guest, rng)
        service.items(*FRESH_MEMORY, cache_kb=cache_kb)
        service.baseline(rate, counter=REMOTE_PAGES)
        service.items("numactl", "--interleave=all", *FRESH_MEMORY, cache_kb=cache_kb)
        yield service.live(counter=REMOTE_PAGES, cache_kb=cache_kb, rate=rate)


# -- limits of cgroup v2 -----------------------------------------------------------------------------------------


@contextmanager
def _killed_at_the_limit(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    limit_mb, rate, leak_kb = rng.randrange(40, 64), rng.randrange(15, 25), rng.randrange(500, 900)
    with Guest() as guest:
        service = LabService(guest, rng)
        service.limit(memory_max=limit_mb * MIB, **{"memory_swap.max": 0})
        service.items(supervised=True, cache_kb=leak_kb)
        service.baseline(rate)
        service.items(supervised=True, leak_kb=leak_kb)

        def killed() -> dict[str, float]:
            return {"killed": guest.sh("cat /run/exits || :").count("exit=137")}

        yield service.live(more=killed, limit_mb=limit_mb, rate=rate, leak_kb=leak_kb)


@contextmanager
def _small_quota(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the quota, which falls below what the requests need."""
    rate, burn_us = rng.randrange(12, 20), rng.randrange(12_000, 20_000)
    quota_us = int(rate * burn_us / 1e6 * rng.uniform(0.7, 0.9) * 100_000)
    with Guest() as guest:
        service = LabService(guest, rng)
        service.limit(cpu_max="150000 100000")
        service.items(burn_us=burn_us, workers=6)
        service.baseline(rate)
        service.limit(cpu_max=f"{quota_us} 100000")
        yield service.live(quota_us=quota_us, burn_us=burn_us, rate=rate)


@contextmanager
def _indexers(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The release starts many indexing threads under the same quota."""
    rate, threads, quota_us = rng.randrange(8, 14), rng.randrange(80, 160), rng.randrange(70_000, 100_000)
    with Guest() as guest:
        service = LabService(guest, rng)
        service.limit(cpu_max=f"{quota_us} 100000")
        service.items(burn_us=2000)
        service.baseline(rate)
        service.items(burn_us=2000, indexers=threads)
        yield service.live(quota_us=quota_us, threads=threads, rate=rate)


@contextmanager
def _shrunk_limit(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the memory limit, which now holds a fraction of the mapped index."""
    index_mb, share, iops = rng.randrange(80, 120), rng.uniform(0.2, 0.35), rng.randrange(100, 160)
    rate = rng.randrange(12, 20)
    # More reads than the disk gives, or no client would wait.
    touch = math.ceil(iops * rng.uniform(1.3, 1.8) / (rate * (1 - share)))
    with Guest(disk_files={"index": index_mb}, disk_iops=iops) as guest:
        service = LabService(guest, rng)
        service.limit(memory_max=(index_mb + 64) * MIB)
        service.items(map=f"{DATA}/index", touch=touch, workers=16)
        guest.sh(f"echo $$ >/sys/fs/cgroup/services/api/cgroup.procs; cat {DATA}/index >/dev/null")
        service.baseline(rate)
        service.limit(memory_max=int(index_mb * share) * MIB)
        yield service.live(index_mb=index_mb, share=share, iops=iops, rate=rate, touch=touch)


# -- swap --------------------------------------------------------------------------------------------------------


@contextmanager
def _smaller_than_heap(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the memory limit, which now holds a fraction of a heap that is in use everywhere."""
    heap_mb, share, iops = rng.randrange(70, 100), rng.uniform(0.4, 0.55), rng.randrange(400, 600)
    rate, touch = rng.randrange(12, 20), rng.randrange(60, 100)
    with Guest(swap_iops=iops) as guest:
        service = LabService(guest, rng)
        service.limit(memory_max=(heap_mb + 64) * MIB)
        service.items(heap_mb=heap_mb, touch=touch, workers=16)
        service.baseline(rate, counter=SWAPPED)
        # The limit holds at once, but the process that writes it waits until the group fits, which it may never do.
        limit, files = int(heap_mb * share) * MIB, f"{GROUPS}/{service.group}"
        guest.sh(f"(echo {limit} >{files}/memory.max) </dev/null >/dev/null 2>&1 &")
        # More goes out at first than has to. It thrashes once what came back fills the limit again.
        full = f'[ "$(cat {files}/memory.current)" -gt {limit * 95 // 100} ]'
        guest.sh(f"n=0; until {full} || [ $n -gt 300 ]; do sleep 0.2; n=$((n + 1)); done", timeout_s=90.0)
        yield service.live(counter=SWAPPED, heap_mb=heap_mb, share=share, iops=iops, rate=rate, touch=touch)


@contextmanager
def _huge_page_pool(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Huge pages are reserved for a database that was never installed: what is left is less than the shop's memory."""
    memory_mb, left, iops = rng.randrange(220, 300), rng.uniform(0.4, 0.55), rng.randrange(400, 600)
    rate, lookups = rng.uniform(6.0, 12.0), rng.randrange(90, 150)
    options = ("--threads", 6, "--memory-mb", memory_mb, "--lookups", lookups)
    with Guest(swap_mb=512, swap_iops=iops) as guest:
        service = LabService(guest, rng, "shop")
        service.shop(*options)
        service.baseline(rate, "--poisson", counter=SWAPPED)
        available_kb = guest.sh("awk '$1 == \"MemAvailable:\" {print $2}' /proc/meminfo")
        pages = (int(available_kb) // 1024 + int(memory_mb * (1 - left))) // 2
        guest.sh(f"echo {pages} >/proc/sys/vm/nr_hugepages", timeout_s=120.0)
        # More goes out at first than has to. It thrashes once the kernel has to look for memory again.
        scanned = "awk '/^pgscan_(kswapd|direct) / {n += $2} END {print n}' /proc/vmstat"
        still = f'[ "$(a=$({scanned}); sleep 1; echo $(($({scanned}) - a)))" -lt 50 ]'
        guest.sh(f"n=0; while {still} && [ $n -lt 60 ]; do n=$((n + 1)); done", timeout_s=120.0)
        yield service.live(
            counter=SWAPPED,
            memory_mb=memory_mb,
            left=left,
            pages=pages,
            iops=iops,
            rate=rate,
            lookups=lookups,
        )


@contextmanager
def _cold_memory(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Most of the swap is used, by memory of a nightly job that is not used."""
    cold_mb, rate = rng.randrange(120, 180), rng.randrange(12, 20)
    with Guest(swap_iops=400) as guest:
        service = LabService(guest, rng)
        service.items(heap_mb=40, touch=30)
        service.baseline(rate, counter=SWAPPED)
        guest.start([guest.program("items"), f"heap_mb={cold_mb}", f"port={APP_PORT + 1}"], "nightly")
        guest.listens(APP_PORT + 1)
        guest.sh(f"echo {cold_mb - 8}M >/sys/fs/cgroup/services/nightly/memory.reclaim || :")
        yield service.live(counter=SWAPPED, cold_mb=cold_mb, rate=rate)


SCENARIOS = (
    guest_scenario(
        "numa-remote", "fault", "numa-remote", "numa-remote-memory",
        "A service may run on one node only and get memory of the other one only; before, of its own.", _wrong_node,
    ),
    guest_scenario(
        "numa-remote-validation", "validation", "numa-remote", "numa-remote-memory",
        "numactl binds a shop's threads to one node and its memory to the other; no group limits it.",
        _bound_by_start_script,
    ),
    guest_scenario(
        "numa-remote-decoy", "decoy", "numa-remote", "",
        "Memory is interleaved over both nodes on purpose, for threads on both.", _interleaved,
    ),
    guest_scenario(
        "guest-oom", "fault", "memcg-oom", "memcg-oom-kill",
        "Under cgroup v2 the service grows to memory.max, is killed, and starts again.", _killed_at_the_limit,
    ),
    guest_scenario(
        "guest-quota", "fault", "quota-throttling", "cpu-quota-throttling",
        "Under cgroup v2, cpu.max was lowered to a little less than the requests need.", _small_quota,
    ),
    guest_scenario(
        "guest-oversubscription", "fault", "oversubscription", "thread-oversubscription",
        "Under cgroup v2, a hundred threads compute within a cpu.max of less than one CPU.", _indexers,
    ),
    guest_scenario(
        "guest-major-faults", "fault", "major-faults", "major-fault-thrashing",
        "Under cgroup v2, memory.max was lowered to a fraction of the mapped index on a slow disk.", _shrunk_limit,
    ),
    guest_scenario(
        "swap-thrash", "fault", "swap-thrash", "swap-thrashing",
        "A heap that is used everywhere is twice as large as its memory.max; the rest swaps.", _smaller_than_heap,
    ),
    guest_scenario(
        "swap-thrash-validation", "validation", "swap-thrash", "swap-thrashing",
        "A pool of huge pages took the memory of the whole host; the shop's own swaps.", _huge_page_pool,
    ),
    guest_scenario(
        "swap-thrash-decoy", "decoy", "swap-thrash", "",
        "Much swap is in use, by memory that is not touched; no page is read back.", _cold_memory,
    ),
)  # fmt: skip
