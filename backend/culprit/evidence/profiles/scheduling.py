"""Answers about the scheduler: who ran, who waited, and how long."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.columns import DamagedFile
from collectors.sched import SchedTable, TaskRow
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.core.sched import delay_histogram, lanes, run_queue
from culprit.infra.artifacts import ArtifactAltered, ArtifactMissing, ArtifactStore
from culprit.kit.errors import Conflict, NotFound
from culprit.models import Profile, Run
from culprit.profiles import queries, service
from culprit.profiles.loaded import SCHEDS

MAX_TASKS = 2000
COLLECTOR = "perf_sched"
Json = dict[str, Any]


def of_run(session: Session, actor: Actor, run_id: UUID) -> tuple[Run, Profile]:
    """The scheduler's events of a run; raises NotFound."""
    policy(actor, "profile.read")
    run = queries.run(session, actor, run_id)
    profile = queries.sched_profile(session, run_id) if run is not None else None
    if run is None or profile is None:
        raise NotFound("run.no_sched")
    return run, profile


def table(store: ArtifactStore, profile: Profile) -> SchedTable:
    """Its slices, opened; raises Conflict where they are not there (yet, or any more)."""
    key = service.ready(profile)
    try:
        return SCHEDS.get(key, store.path)
    except (ArtifactMissing, ArtifactAltered, DamagedFile, FileNotFoundError) as error:
        raise Conflict("profile.lost", why=str(error)[:200]) from error


def summary(store: ArtifactStore, run: Run, profile: Profile) -> Json:
    """Every task, how long waits were, and perf's own totals beside ours."""
    found = table(store, profile)
    histogram = delay_histogram(found)
    queue = run_queue(found)
    tasks = found.tasks()
    return {
        "profile_id": profile.id,
        "samples": len(found.t_ns),
        "events": found.events,
        "lost": found.lost,
        "lost_share": found.lost_share,
        "inconsistent": found.inconsistent,
        "t0_ns": found.t0_ns,
        "t1_ns": found.t1_ns,
        "duration_ms": (found.t1_ns - found.t0_ns) / 1e6,
        "tasks": [task_row(row) for row in tasks[:MAX_TASKS]],
        "tasks_total": len(tasks),
        "histogram": {"edges_us": histogram.edges_us, "counts": histogram.counts},
        "run_queue": {
            "t0_ns": queue.t0_ns,
            "bin_ns": queue.bin_ns,
            "mean": queue.mean,
            "peak": queue.peak,
        },
        "checked_against": _perf_says(run, sum(row.switches for row in tasks)),
    }


def task_row(row: TaskRow) -> Json:
    """One task in milliseconds; null where it never waited."""
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


def _perf_says(run: Run, switches: int) -> Json | None:
    """What `perf sched timehist` counted in the same file."""
    told = (run.facts or {}).get(COLLECTOR) or {}
    if "timehist_switches" not in told:
        return None
    return {
        "tool": "perf sched timehist",
        "switches": told["timehist_switches"],
        "ours": switches,
        "run_ms": told.get("timehist_run_ms"),
    }


def drawn(
    store: ArtifactStore, profile: Profile, *, from_ns: int | None, to_ns: int | None, width: int
) -> Json:
    """Who ran on each CPU; segments are [offset_ns, len_ns, index into tasks, slices]."""
    found = table(store, profile)
    begin = from_ns if from_ns is not None else found.t0_ns
    end = to_ns if to_ns is not None else found.t1_ns + 1
    if begin >= end:
        raise Conflict("timeline.empty_range", from_ns=begin, to_ns=end)
    rows = lanes(found, begin, end, width)
    used = sorted({segment[2] for lane in rows for segment in lane.segments})
    place = {task: at for at, task in enumerate(used)}
    comms = found.comm.all()
    return {
        "t0_ns": begin,
        "t1_ns": end,
        "cpus": [
            {"cpu": lane.cpu, "segments": [[s[0], s[1], place[s[2]], s[3]] for s in lane.segments]}
            for lane in rows
        ],
        "tasks": [{"task": comms[i], "pid": int(found.pid[i]), "tid": int(found.tid[i])} for i in used],
    }
