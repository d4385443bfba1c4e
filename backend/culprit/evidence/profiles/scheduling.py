"""Answers about the scheduler: who ran, who waited, and how long."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.orm import Session

from collectors.profiles.column_file import DamagedFileError
from collectors.profiles.scheduling import SchedTable, TaskRow
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.domain.profiles.scheduling import build_cpu_tracks, compute_delay_histogram, compute_run_queue
from culprit.evidence.profiles import queries, service
from culprit.evidence.profiles.file_cache import SCHEDULES
from culprit.infra.artifacts.blob_files import ArtifactAlteredError, ArtifactMissingError
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.profile import Profile
from culprit.json_types import Json
from culprit.web.errors import ConflictError, NotFoundError

MAX_TASKS = 2000
COLLECTOR = "perf_sched"


def get_scheduler_profile(session: Session, actor: Actor, run_id: UUID) -> tuple[Run, Profile]:
    """The scheduler's events of a run; raises NotFoundError."""
    authorize(actor, "profile.read")
    run = queries.find_run(session, actor, run_id)
    profile = queries.find_scheduler_profile(session, run_id) if run is not None else None
    if run is None or profile is None:
        raise NotFoundError("run.no_sched")
    return run, profile


def load_schedule(store: ArtifactStore, profile: Profile) -> SchedTable:
    """Its slices, opened; raises ConflictError where they are not there (yet, or any more)."""
    key = service.require_ready(profile)
    try:
        return SCHEDULES.get(key, store.path)
    except (ArtifactMissingError, ArtifactAlteredError, DamagedFileError, FileNotFoundError) as error:
        raise ConflictError("profile.lost", why=str(error)[:200]) from error


def summarize_schedule(store: ArtifactStore, run: Run, profile: Profile) -> Json:
    """Return every task, the distribution of waits, and the totals of perf next to those of Culprit."""
    schedule = load_schedule(store, profile)
    histogram = compute_delay_histogram(schedule)
    queue = compute_run_queue(schedule)
    tasks = schedule.tasks()
    return {
        "profile_id": profile.id,
        "samples": len(schedule.t_ns),
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
        "checked_against": _load_perf_totals(run, sum(row.switches for row in tasks)),
    }


def task_to_json(row: TaskRow) -> Json:
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


def _load_perf_totals(run: Run, switches: int) -> Json | None:
    """What `perf sched timehist` counted in the same file."""
    fact = (run.facts or {}).get(COLLECTOR) or {}
    if "timehist_switches" not in fact:
        return None
    return {
        "tool": "perf sched timehist",
        "switches": fact["timehist_switches"],
        "parsed_switches": switches,
        "run_ms": fact.get("timehist_run_ms"),
    }


def build_tracks(
    store: ArtifactStore, profile: Profile, *, from_ns: int | None, to_ns: int | None, width: int
) -> Json:
    """Who ran on each CPU; segments are [offset_ns, len_ns, index into tasks, slices]."""
    schedule = load_schedule(store, profile)
    begin = from_ns if from_ns is not None else schedule.t0_ns
    end = to_ns if to_ns is not None else schedule.t1_ns + 1
    if begin >= end:
        raise ConflictError("timeline.empty_range", from_ns=begin, to_ns=end)
    rows = build_cpu_tracks(schedule, begin, end, width)
    used = sorted({segment[2] for track in rows for segment in track.segments})
    place = {task: at for at, task in enumerate(used)}
    comms = schedule.comm.all()
    return {
        "t0_ns": begin,
        "t1_ns": end,
        "cpus": [
            {"cpu": track.cpu, "segments": [[s[0], s[1], place[s[2]], s[3]] for s in track.segments]}
            for track in rows
        ],
        "tasks": [{"task": comms[i], "pid": int(schedule.pid[i]), "tid": int(schedule.tid[i])} for i in used],
    }
