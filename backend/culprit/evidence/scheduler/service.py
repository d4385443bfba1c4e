"""Summarize scheduler events: run times, scheduling delays, tracks and wake-ups of threads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

import numpy as np
from sqlalchemy.orm import Session

from collectors.profiles.column_file import DamagedFileError
from collectors.profiles.scheduling import SchedTable, TaskRow
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.domain.profiles.scheduling import compute_delay_histogram, compute_run_queue
from culprit.domain.profiles.scheduling_tracks import (
    ThreadTracks,
    Wakeup,
    build_cpu_tracks,
    build_thread_tracks,
    list_wakeups,
)
from culprit.evidence.profiles import queries, service
from culprit.evidence.profiles.file_cache import SCHEDULES
from culprit.infra.artifacts.blob_files import ArtifactAlteredError, ArtifactMissingError
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.profile import Profile
from culprit.json_types import Json
from culprit.web.errors import ConflictError, NotFoundError

MAX_TASKS = 2000
MAX_THREADS = 40
MAX_WAKEUPS = 300
WAKE_CONTEXTS = ("unknown", "thread", "soft_interrupt", "hard_interrupt")
"""Context names; the index is `SchedTable.wake_context`."""

COLLECTOR = "perf_sched"


def get_scheduler_profile(
    session: Session, actor: Actor, run_id: UUID, profile_id: UUID | None = None
) -> tuple[Run, Profile]:
    """Return a run and the profile with its scheduler events, or raise NotFoundError.

    A run has several of them if it also recorded stacks at context switches; `profile_id` selects one.
    """
    authorize(actor, "profile.read")
    run = queries.find_run(session, actor, run_id)
    profile = queries.find_scheduler_profile(session, run_id, profile_id) if run is not None else None
    if run is None or profile is None:
        raise NotFoundError("run.no_sched")
    return run, profile


def load_schedule(store: ArtifactStore, profile: Profile) -> SchedTable:
    """Return the scheduler events of a profile.

    Raises ConflictError if the profile is not ready or its file is lost, GoneError if it was deleted.
    """
    key = service.require_ready(profile)
    try:
        return SCHEDULES.get(key, store.path)
    except (ArtifactMissingError, ArtifactAlteredError, DamagedFileError, FileNotFoundError) as error:
        raise ConflictError("profile.lost", why=str(error)[:200]) from error


def summarize_schedule(
    store: ArtifactStore, run: Run, profile: Profile, *, from_ns: int | None = None, to_ns: int | None = None
) -> Json:
    """Return all tasks, the histogram of scheduling delays, the run queue, and perf's totals for comparison.

    A range limits tasks and delays to it, and omits perf's totals. Raises ConflictError for an empty range.
    """
    recorded = load_schedule(store, profile)
    is_whole = from_ns is None and to_ns is None
    schedule = recorded if is_whole else recorded.select_range(*_resolve_range(recorded, from_ns, to_ns))
    histogram = compute_delay_histogram(schedule)
    queue = compute_run_queue(schedule)
    tasks = [row for row in schedule.tasks() if is_whole or row.runtime_ns or row.cut_ns or row.waits]
    return {
        "profile_id": profile.id,
        "samples": len(recorded.t_ns),
        "events": schedule.events,
        "lost": schedule.lost,
        "lost_share": schedule.lost_share,
        "inconsistent": schedule.inconsistent,
        "t0_ns": schedule.t0_ns,
        "t1_ns": schedule.t1_ns,
        "duration_ms": (schedule.t1_ns - schedule.t0_ns) / 1e6,
        "tasks": [task_to_json(row) for row in tasks[:MAX_TASKS]],
        "tasks_total": len(tasks),
        "histogram": {"edges_us": histogram.edges_us, "counts": histogram.counts},
        "run_queue": {
            "t0_ns": queue.t0_ns,
            "bin_ns": queue.bin_ns,
            "mean": queue.mean,
            "peak": queue.peak,
        },
        "checked_against": _load_perf_totals(run, profile, sum(row.switches for row in tasks))
        if is_whole
        else None,
    }


def task_to_json(row: TaskRow) -> Json:
    """Return the JSON of a task with times in milliseconds; delay statistics are null if it never waited."""
    waited = row.waits > 0
    return {
        "task": row.comm,
        "pid": row.pid,
        "tid": row.tid,
        "prio": row.prio,
        "runtime_ms": row.runtime_ns / 1e6,
        "switches": row.switches,
        "waits": row.waits,
        "delay_sum_ms": row.delay_sum_ns / 1e6,
        "delay_avg_ms": row.delay_avg_ns / 1e6 if waited else None,
        "delay_p99_ms": row.delay_p99_ns / 1e6 if waited else None,
        "delay_max_ms": row.delay_max_ns / 1e6 if waited else None,
        "delay_max_at_ns": row.delay_max_at_ns if waited else None,
    }


def _load_perf_totals(run: Run, profile: Profile, switches: int) -> Json | None:
    """Return the totals that `perf sched timehist` counted in the same file, or None."""
    fact = (run.facts or {}).get(COLLECTOR) or {}
    is_with_stacks = (profile.source or {}).get("reader") == "perf_data"
    if is_with_stacks or "timehist_switches" not in fact:
        return None
    return {
        "tool": "perf sched timehist",
        "switches": fact["timehist_switches"],
        "parsed_switches": switches,
        "run_ms": fact.get("timehist_run_ms"),
    }


@dataclass(frozen=True, slots=True)
class TrackRange:
    """A time range in UTC nanoseconds (None: from the first, to the last event), and its width in pixels."""

    from_ns: int | None
    to_ns: int | None
    width: int


def build_tracks(
    store: ArtifactStore,
    profile: Profile,
    drawing: TrackRange,
    *,
    by: Literal["cpu", "thread"],
    tid: int | None,
) -> Json:
    """Return the tracks by CPU or by thread in a range, and the wake-ups with the longest delay.

    Raises ConflictError for an empty range.
    """
    schedule = load_schedule(store, profile)
    begin, end = _resolve_range(schedule, drawing.from_ns, drawing.to_ns)
    task = _find_task(schedule, tid)
    wakeups = list_wakeups(schedule, begin, end, MAX_WAKEUPS, task)
    cpus = build_cpu_tracks(schedule, begin, end, drawing.width) if by == "cpu" else []
    related = (
        [] if task is None else [task, *(wakeup.waker for wakeup in wakeups.longest if wakeup.task == task)]
    )
    threads = (
        build_thread_tracks(schedule, begin, end, drawing.width, most=MAX_THREADS, first=related)
        if by == "thread"
        else ThreadTracks([], 0)
    )
    used = {segment[2] for track in cpus for segment in track.segments}
    used |= {track.task for track in threads.tracks}
    used |= {index for wakeup in wakeups.longest for index in (wakeup.task, wakeup.waker) if index >= 0}
    place = {index: at for at, index in enumerate(sorted(used))}
    comms = schedule.comm.all()
    return {
        "t0_ns": begin,
        "t1_ns": end,
        "cpus": [
            {"cpu": track.cpu, "segments": [[s[0], s[1], place[s[2]], s[3]] for s in track.segments]}
            for track in cpus
        ],
        "threads": [
            {"task": place[track.task], "segments": track.segments, "waits": track.waits}
            for track in threads.tracks
        ],
        "threads_total": threads.total,
        "tasks": [
            {"task": comms[i], "pid": int(schedule.pid[i]), "tid": int(schedule.tid[i])} for i in place
        ],
        "wakeups": [_wakeup_to_json(wakeup, begin, place) for wakeup in wakeups.longest],
        "wakeups_total": wakeups.total,
    }


def _resolve_range(schedule: SchedTable, from_ns: int | None, to_ns: int | None) -> tuple[int, int]:
    begin = from_ns if from_ns is not None else schedule.t0_ns
    end = to_ns if to_ns is not None else schedule.t1_ns + 1
    if begin >= end:
        raise ConflictError("timeline.empty_range", from_ns=begin, to_ns=end)
    return begin, end


def _find_task(schedule: SchedTable, tid: int | None) -> int | None:
    """Return the index of a thread; -1, which has no data, if it did not run; None without `tid`."""
    if tid is None:
        return None
    at = int(np.searchsorted(schedule.tid, tid))
    return at if at < len(schedule.tid) and int(schedule.tid[at]) == tid else -1


def _wakeup_to_json(wakeup: Wakeup, begin: int, place: Mapping[int, int]) -> Json:
    return {
        "offset_ns": wakeup.at_ns - begin,
        "delay_ns": wakeup.delay_ns,
        "task": place[wakeup.task],
        "waker": place.get(wakeup.waker),
        "from_cpu": wakeup.from_cpu,
        "to_cpu": wakeup.to_cpu,
        "context": WAKE_CONTEXTS[wakeup.context],
    }
