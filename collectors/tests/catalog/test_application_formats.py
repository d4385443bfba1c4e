"""Formats of the application and platform collectors that could not be captured here; all of them synthetic."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from collectors.catalog.application import jstack, perf_trace, redis_info
from collectors.catalog.disk import disks_health
from collectors.catalog.platform import clock_sync, hardware
from collectors.contract import Script
from collectors.tests.support import context, part, samples

CPU = "/sys/devices/system/cpu"


def test_heat_and_memory_errors_are_counted() -> None:
    """A bare-metal host: cpufreq in kHz, throttle counts by core, EDAC."""
    read = hardware.parse_hardware(
        samples(
            (10, f"{CPU}/cpu0/cpufreq/scaling_cur_freq", "3400000"),
            (10, f"{CPU}/cpu1/cpufreq/scaling_cur_freq", "800000"),
            (10, f"{CPU}/cpu0/thermal_throttle/core_throttle_count", "5"),
            (10, "/sys/devices/system/edac/mc/mc0/ce_count", "1"),
            (10, f"{CPU}/vulnerabilities/l1tf", "Mitigation: PTE Inversion"),
        ),
        context(),
    )
    rows = {row[0]: row for table in read.tables for row in table.rows}
    assert rows["vulnerabilities/l1tf"][1:] == ("Mitigation: PTE Inversion", None, None)
    later = {
        "samples": part(
            f"@ 0 10000000000 {CPU}/cpu0/cpufreq/scaling_cur_freq\n3400000\n"
            f"@ 0 10000000000 {CPU}/cpu1/cpufreq/scaling_cur_freq\n800000\n"
            f"@ 0 10000000000 {CPU}/cpu0/thermal_throttle/core_throttle_count\n5\n"
            "@ 0 10000000000 /sys/devices/system/edac/mc/mc0/ce_count\n1\n"
            f"@ 1 20000000000 {CPU}/cpu0/cpufreq/scaling_cur_freq\n3400000\n"
            f"@ 1 20000000000 {CPU}/cpu1/cpufreq/scaling_cur_freq\n1200000\n"
            f"@ 1 20000000000 {CPU}/cpu0/thermal_throttle/core_throttle_count\n25\n"
            "@ 1 20000000000 /sys/devices/system/edac/mc/mc0/ce_count\n4\n"
        )
    }
    read = hardware.parse_hardware(later, context())
    series = {series.metric: series for series in read.series}
    assert series["platform.cpu_freq_mhz"].values.tolist() == [[3400.0, 800.0], [3400.0, 1200.0]]
    assert series["platform.cpu_freq_mhz"].axis_values == ("0", "1")
    assert series["platform.thermal_throttles_per_s"].values.tolist() == [[2.0]]
    rows = {row[0]: row for table in read.tables for row in table.rows}
    assert rows["mc0/ce_count"][1:] == ("4", 4.0, 3.0)


OLD_SUMMARY = """seconds 2

 Summary of events:

 redis server (77), 400 events, 90.0%

   syscall            calls    total       min       avg       max      stddev
                               (msec)    (msec)    (msec)    (msec)        (%)
   --------------- -------- --------- --------- --------- ---------     ------
   epoll_wait           100  1980.000     0.001    19.800    99.000     10.00%
"""


def test_perf_trace_before_it_counted_errors() -> None:
    """perf 4.x has no column of errors: that is unknown, not zero."""
    [table] = perf_trace.parse_perf_trace({"stdout": part(OLD_SUMMARY)}, context()).tables
    assert table.rows == (
        (None, 77, "redis server", "epoll_wait", 100, None, 1980.0, 0.001, 19.8, 99.0, 50.0),
    )
    assert table.lines == (10,)


MDSTAT = """Personalities : [raid1]
md0 : active raid1 sdb1[2](F) sda1[0]
      1048512 blocks super 1.2 [2/1] [U_]
      [=>...................]  recovery =  5.0% (52480/1048512) finish=1.5min speed=10496K/sec
md1 : active raid1 sdb2[1] sda2[0]
      2097024 blocks super 1.2 [2/2] [UU]
"""


@pytest.mark.parametrize(
    "awk", [item for item in ("mawk", "gawk", "busybox awk") if shutil.which(item.split()[0])]
)
def test_an_array_that_lacks_a_member(awk: str) -> None:
    method = disks_health.COLLECTOR.methods[0]
    assert isinstance(method, Script)
    match = re.search(r"^awk '(/\^md.*?)' /proc/mdstat", method.sh, re.MULTILINE | re.DOTALL)
    assert match
    out = subprocess.run([*awk.split(), match[1]], input=MDSTAT, capture_output=True, text=True, check=True)
    read = disks_health.parse_disks_health({"stdout": part(out.stdout)}, context())
    assert [row[:4] for row in read.tables[0].rows] == [
        ("md0", "mdstat", "degraded", 1),
        ("md1", "mdstat", "ok", 0),
    ]
    assert read.facts == {"disks_ill": 1}


DUMP_8 = """dump 1
2026-01-01 00:00:00
Full thread dump OpenJDK 64-Bit Server VM (25.402-b06 mixed mode):

"a" #12 prio=5 os_prio=0 tid=0x00007f01 nid=0x1f waiting for monitor entry [0x00007f02]
   java.lang.Thread.State: BLOCKED (on object monitor)
	at App.run(App.java:5)
	- waiting to lock <0x00000000e1> (a java.lang.Object)

"b" #13 prio=5 os_prio=0 tid=0x00007f03 nid=0x20 runnable [0x00007f04]
   java.lang.Thread.State: RUNNABLE
	at App.work(App.java:9)
	- locked <0x00000000e1> (a java.lang.Object)

Found one Java-level deadlock:
"""


def test_threads_of_jdk_8() -> None:
    """Hexadecimal nid, no cpu= field."""
    read = jstack.parse_jstack({"stdout": part(DUMP_8)}, context())
    threads, locks = read.tables
    rows = {row[1]: row for row in threads.rows}
    assert rows["a"][0] == 31 and rows["a"][6:9] == ("0x00000000e1", "java.lang.Object", "b")
    assert rows["a"][9] is None
    assert locks.rows == (("0x00000000e1", "java.lang.Object", "b", 1, None, 1, 1, 1.0),)
    assert read.facts["java_deadlocks"] == 1


PARKED = """dump {dump}
"pool-1-thread-{name}" #12 prio=5 os_prio=0 tid=0x7f01 nid={nid} waiting on condition [0x7f02]
   java.lang.Thread.State: WAITING (parking)
	at jdk.internal.misc.Unsafe.park(java.base@17/Native Method)
	- parking to wait for  <{lock}> (a java.util.concurrent.{kind})
"""


@pytest.mark.parametrize(
    ("kind", "queues"),
    [
        ("locks.ReentrantLock$FairSync", True),
        ("locks.ReentrantReadWriteLock$NonfairSync", True),
        ("locks.StampedLock", True),
        ("locks.AbstractQueuedSynchronizer$ConditionObject", False),
        ("SynchronousQueue$TransferStack", False),
        ("CountDownLatch$Sync", False),
        ("Semaphore$NonfairSync", False),
        ("FutureTask", False),
    ],
)
def test_parked_threads_queue_only_for_locks(kind: str, queues: bool) -> None:
    """An idle thread of a pool parks for a condition or a queue, and a request may park for a result."""
    dumps = [PARKED.format(dump=number, name=1, nid=31, lock="0xe1", kind=kind) for number in (1, 2)]
    text = "process 40\n" + "".join(dumps) + "dump 3\n" + '"x" #9 nid=30 runnable\n'
    read = jstack.parse_jstack({"stdout": part(text)}, context())
    locks = [row[4:] for table in read.tables if table.kind == "java_locks" for row in table.rows]
    assert locks == ([(40, 3, 2, 0.67)] if queues else [])


def test_empty_output_is_unreadable() -> None:
    for parse in (
        clock_sync.parse_clock_sync,
        disks_health.parse_disks_health,
        redis_info.parse_redis_info,
        perf_trace.parse_perf_trace,
        jstack.parse_jstack,
    ):
        assert not parse({"stdout": part("hello\n")}, context()).readable
        assert not parse({}, context()).readable
