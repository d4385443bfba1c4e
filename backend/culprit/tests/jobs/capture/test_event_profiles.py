"""Profiles that are computed from events of the kernel, and control groups: a real sshd, perf and workers."""

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


@pytest.fixture
def locks(tmp_path: Path):
    source, program = tmp_path / "locks.c", tmp_path / "lock-holder"
    source.write_text(LOCKS)
    subprocess.run(["gcc", "-O1", "-fno-omit-frame-pointer", "-pthread", "-o", program, source], check=True)
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


def test_the_time_of_a_process_is_on_and_off_the_cpu(lab, locks):
    [profile] = record(lab, ("wall_time",), {"kind": "process", "value": str(locks)})
    assert (profile.kind, profile.unit, profile.event) == ("wall_time", "ns", "wall_time")
    stacks = load(profile)
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
