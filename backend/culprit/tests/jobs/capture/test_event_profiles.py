"""Profiles that are computed from events of the kernel, and control groups: a real sshd, perf and workers."""

import os
import subprocess
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from culprit.domain.profiles.facets import compute_facets
from culprit.domain.profiles.stacks import SampleFilter, StackProfile
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.models.evidence.profile import Profile
from sqlalchemy import select

from collectors.parse.perf import perf_data
from collectors.profiles.samples import SampleTable
from collectors.profiles.scheduling import NOT_KNOWN, WOKEN, SchedTable

pytestmark = [
    pytest.mark.long(120),
    pytest.mark.skipif(not perf_data.is_available(), reason="the native reader is not installed"),
]

LOCKS = """
#include <pthread.h>
#include <time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
volatile unsigned long steps;
static void *work(void *unused) {
    struct timespec time = {0, 5000000};
    for (;;) {
        pthread_mutex_lock(&lock); nanosleep(&time, 0); pthread_mutex_unlock(&lock);
        for (int i = 0; i < 1000000; i++) steps += i;
    }
    return unused;
}
int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, work, 0);
    pthread_join(threads[0], 0);
}
"""


FAULTS = """
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
volatile unsigned long sum;
__attribute__((noinline)) void read_pages(const unsigned char *bytes, long size) {
    for (long at = 0; at < size; at += 1 << 20) sum += bytes[at];
}
int main(int argc, char **argv) {
    struct timespec pause = {0, 100000000};
    int file = open(argv[1], O_RDONLY);
    long size = lseek(file, 0, SEEK_END);
    for (;;) {
        posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
        unsigned char *bytes = mmap(0, size, PROT_READ, MAP_PRIVATE, file, 0);
        madvise(bytes, size, MADV_RANDOM);
        read_pages(bytes, size);
        munmap(bytes, size);
        nanosleep(&pause, 0);
    }
}
"""


def compile_program(folder: Path, name: str, code: str) -> Path:
    source, program = folder / f"{name}.c", folder / name
    source.write_text(code)
    subprocess.run(["gcc", "-O1", "-fno-omit-frame-pointer", "-pthread", "-o", program, source], check=True)
    return program


@pytest.fixture
def locks(tmp_path: Path):
    program = compile_program(tmp_path, "lock-holder", LOCKS)
    with ExitStack() as stack:
        child = stack.enter_context(subprocess.Popen([program]))
        stack.callback(child.kill)
        yield child.pid


def record(lab, collectors, scope=None) -> list[Profile]:
    """Capture, and return the profiles of the run once all are built."""
    host = lab.add_host(lab.sshd())
    lab.worker()
    lab.worker("parse")
    capture = lab.capture(host, collectors=collectors, seconds=3, scope=scope)
    [run] = lab.until_runs(capture, "done", "failed", "partial")

    def built():
        with lab.db.sessions() as session:
            profiles = session.scalars(select(Profile).where(Profile.run_id == run.id)).all()
            return (
                profiles if profiles and all(item.state in ("ready", "failed") for item in profiles) else None
            )

    return lab.until(built, 90, "profiles")


def load(profile: Profile) -> StackProfile:
    assert profile.store_key is not None, profile.failure
    return StackProfile(SampleTable.load(artifact_store().path(profile.store_key)))


def sum_by_frame(profile: StackProfile, depth: int) -> Counter[str]:
    """The weight of each name at a depth of the stacks, 1 below the root."""
    table, sums = profile.table, Counter()
    for stack, weight in zip(table.stack.tolist(), table.weight.tolist(), strict=True):
        path = table.trie.path(stack)
        if len(path) >= depth:
            sums[profile.names[path[depth - 1]]] += weight
    return sums


def check_schedule(profile: Profile, stacks: StackProfile, pid: int) -> None:
    """Check that the scheduler events of a recording have the threads and the times of its stacks."""
    assert profile.store_key is not None
    schedule = SchedTable.load(artifact_store().path(profile.store_key))
    threads = set(schedule.tid[schedule.pid == pid].tolist())
    assert len(threads) == 3 and threads == set(stacks.table.tid.tolist()) - {pid}
    # Other processes are in the schedule, too: it shows what ran instead.
    assert set(schedule.pid.tolist()) > {pid}
    begin, end = int(stacks.table.t_ns.min()), int(stacks.table.t_ns.max())
    assert schedule.t0_ns - 1e9 < begin < end <= schedule.t1_ns
    assert ((schedule.origin == WOKEN) & (schedule.wake_context != NOT_KNOWN)).any()
    on_cpu = sum(
        weight
        for stack, weight in zip(stacks.table.stack.tolist(), stacks.table.weight.tolist(), strict=True)
        if "on CPU" in {stacks.names[frame] for frame in stacks.table.trie.path(stack)}
    )
    ran = schedule.len_ns[np.isin(schedule.tid[schedule.task], list(threads))].sum()
    assert on_cpu == pytest.approx(ran, rel=0.05)


def test_the_time_of_a_process_is_on_and_off_the_cpu(lab, locks):
    profiles = record(lab, ("wall_time",), {"kind": "process", "value": str(locks)})
    by_kind = {profile.kind: profile for profile in profiles}
    assert by_kind.keys() == {"wall_time", "sched"} and len(profiles) == 2
    profile = by_kind["wall_time"]
    assert (profile.unit, profile.event) == ("ns", "wall_time")
    stacks = load(profile)
    check_schedule(by_kind["sched"], stacks, locks)
    assert set(stacks.table.pid) == {locks}
    parts = sum_by_frame(stacks, 2)
    assert {"on CPU", "blocked"} <= parts.keys() <= {"on CPU", "blocked", "runnable"}
    threads = Counter()
    for tid, weight in zip(stacks.table.tid.tolist(), stacks.table.weight.tolist(), strict=True):
        threads[tid] += weight
    busy = [weight for weight in threads.values() if weight > 0.5 * max(threads.values())]
    # The three threads that take turns exist all the time, and each has the same width.
    assert len(busy) == 3 and len(set(busy)) == 1
    assert {"work", "do_futex"} <= set(stacks.names), profile.naming


def test_waits_of_a_process_are_by_lock(lab, locks):
    [profile] = record(lab, ("futex_waits",), {"kind": "process", "value": str(locks)})
    assert (profile.kind, profile.unit, profile.event) == ("futex", "ns", "futex")
    stacks = load(profile)
    [(lock, weight)] = sum_by_frame(stacks, 1).most_common(1)
    assert "lock-holder+0x" in lock and lock.endswith(f"(process {locks})")
    assert weight > 1e9 and set(stacks.table.pid) == {locks}


def test_requests_of_a_program_are_time_bytes_and_numbers(lab, tmp_path):
    write = f"while :; do dd if=/dev/zero of={tmp_path}/file bs=64k count=16 oflag=direct; sleep 0.1; done"
    with subprocess.Popen(["sh", "-c", write], stderr=subprocess.DEVNULL) as child:
        try:
            profiles = record(lab, ("block_io_stacks",))
        finally:
            child.kill()
    if profiles[0].failure and profiles[0].failure["key"] == "profile.no_requests":
        pytest.skip("the file system of this machine has no block device")
    units = {profile.event: profile.unit for profile in profiles}
    assert units == {"device_time": "ns", "bytes": "bytes", "requests": "count"}
    assert {profile.kind for profile in profiles} == {"block_io"}
    [size] = [profile for profile in profiles if profile.event == "bytes"]
    by_program = sum_by_frame(load(size), 1)
    assert by_program["dd"] >= 16 * 65536


def test_page_faults_are_below_the_code_that_touches_the_pages(lab, tmp_path):
    program, file = compile_program(tmp_path, "page-reader", FAULTS), tmp_path / "pages"
    file.write_bytes(bytes(32 << 20))
    with file.open("rb") as written:
        os.fsync(written.fileno())
    with subprocess.Popen([program, str(file)]) as child:
        try:
            before = count_major_faults(child.pid)
            profiles = record(lab, ("pagefault_stacks",))
            faults = count_major_faults(child.pid) - before
        finally:
            child.kill()
    if faults == 0:
        pytest.skip("pages of files are always in memory on this machine")
    [profile] = profiles
    assert (profile.kind, profile.unit) == ("page_faults", "samples")
    stacks = load(profile)
    own = [
        {stacks.names[frame] for frame in stacks.table.trie.path(stack)}
        for stack in stacks.table.stack[stacks.table.pid == child.pid].tolist()
    ]
    # Each fault of the window is a sample. The process was counted for a little longer.
    assert 0 < len(own) <= faults
    assert sum("read_pages" in frames for frames in own) > 0.9 * len(own), profile.naming


def count_major_faults(pid: int) -> int:
    """The major faults of a process until now, as the kernel counts them."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[9])


def test_samples_are_filtered_by_the_control_group_of_their_process(lab):
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as busy:
        try:
            [profile] = record(lab, ("perf_record", "proc_threads"))
        finally:
            busy.kill()
    stacks = load(profile)
    facets = compute_facets(stacks.view())
    [group] = stacks.table.cgroups.find(np.array([busy.pid], np.int32))
    path = stacks.table.cgroups.names[int(group)]
    assert path in dict(facets.cgroups)
    chosen = stacks.view(SampleFilter(cgroup=(path,)))
    assert busy.pid in set(stacks.table.pid[chosen.rows])
    everything = stacks.view(SampleFilter(cgroup=("/",)))
    known = stacks.table.cgroups.find(stacks.table.pid) >= 0
    assert everything.weight == int(stacks.table.weight[known].sum()) >= chosen.weight > 0
    assert stacks.view(SampleFilter(cgroup=("/no/such/group",))).weight == 0
    assert np.isin(stacks.table.pid[chosen.rows], stacks.table.cgroups.pid).all()
