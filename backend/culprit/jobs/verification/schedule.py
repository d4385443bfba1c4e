"""Compute when the next capture of a verification is due, how long to observe both sides, and the phases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import timedelta
from itertools import groupby

from sqlalchemy.orm import Session

from collectors.contract import Sentence
from culprit.domain.verification.judge import CHANCE_OF_SHIFT, refuse_measured_gap
from culprit.domain.verification.windows import (
    TimelineGaps,
    compute_required_observation_s,
    measure_span_gaps,
)
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.jobs.verification import queries
from culprit.jobs.verification.measurements import VerificationSpec, list_capture_runs

#: Pause between the captures of a side that is observed for long.
WIDE_PAUSE = timedelta(seconds=50)
#: Wait after a fix or its rollback, because a restarted program needs time to settle.
SETTLING_TIME = timedelta(seconds=30)
#: Maximum number of captures after the fix.
MAX_AFTER = 12
#: Maximum time that a host is observed after the fix: MAX_AFTER captures of 15 s with their pauses.
MAX_OBSERVED_S = 780.0
#: Phases of an alternating verification: before, after, before, after.
PHASES = 4
#: The first and last reading of a run are at most the longest step away from its ends.
EDGE_S = 5.0
#: Readings can be missing, so a little more than needed is observed.
MARGIN = 1.1


def is_alternating(spec: VerificationSpec) -> bool:
    """Return whether the fix is alternately applied and rolled back."""
    return spec.verification.kind == "alternating"


def count_per_phase(needed: int) -> int:
    """Return the number of captures of a phase: both phases of a side together need `needed`."""
    return math.ceil(needed / 2)


def list_phases(session: Session, spec: VerificationSpec) -> list[tuple[bool, int]]:
    """List (is the fix applied, number of finished runs) of the phases so far, the earliest first."""
    verification = spec.verification
    sides = [
        (run.t0_ns or 0, is_after)
        for is_after, capture_ids in ((False, verification.captures_before), (True, verification.after))
        for run in list_capture_runs(session, capture_ids, spec.hosts[0])
    ]
    return [
        (is_after, len(list(items))) for is_after, items in groupby(sorted(sides), key=lambda item: item[1])
    ]


def is_phase_done(phases: Sequence[tuple[bool, int]], needed: int, *, is_after: bool) -> bool:
    """Return whether the current phase has enough captures."""
    return bool(phases) and phases[-1][0] is is_after and phases[-1][1] >= count_per_phase(needed)


def is_rollback_settled(session: Session, spec: VerificationSpec) -> bool:
    """Return whether enough time has passed since the fix was last rolled back."""
    last = queries.find_last_rollback(session, spec.fix)
    return last is None or queries.get_database_time(session) >= last + SETTLING_TIME


def _count_hosts(spec: VerificationSpec) -> int:
    """Return the number of hosts that can shift independently."""
    return 2 if spec.verification.kind == "control" else 1


def is_observed(
    session: Session, spec: VerificationSpec, before: Sequence[Run], after: Sequence[Run]
) -> bool:
    """Return whether both sides are observed for so long that a shift between them is unlikely."""
    if not before or not after:
        return False
    gaps = measure_span_gaps([*_list_spans(session, before, False), *_list_spans(session, after, True)])
    return gaps.observed_s >= MARGIN * compute_required_observation_s(
        gaps, CHANCE_OF_SHIFT / _count_hosts(spec)
    )


def refuse_long_gap(session: Session, spec: VerificationSpec, before: Sequence[Run]) -> Sentence | None:
    """Return why no number of captures after the fix can make up for the time that has passed, or None."""
    now_s = queries.get_database_time(session).timestamp()
    spans = _list_spans(session, before, False)
    seconds = max(end - start for start, end, _ in spans)
    gaps = measure_span_gaps([*spans, (now_s, now_s + seconds, True)])
    reach = TimelineGaps(gaps.switches, gaps.longest_s, gaps.observed_s + MAX_OBSERVED_S)
    refusal = refuse_measured_gap(reach, math.nan, hosts=_count_hosts(spec))
    return refusal.reason if refusal is not None else None


def _list_spans(session: Session, runs: Sequence[Run], is_after: bool) -> list[tuple[float, float, bool]]:
    """Return (start, end, is_after) of each capture in Unix seconds, without the minute of log before it."""
    spans = []
    for run in runs:
        capture = session.get_one(Capture, run.capture_id)
        lengths = [int(collector["seconds"]) for collector in capture.collectors if collector.get("seconds")]
        seconds = max(lengths, default=0)
        end = (run.t1_ns or run.t0_ns or 0) / 1e9
        start = max((run.t0_ns or 0) / 1e9, end - seconds)
        spans.append((start + EDGE_S, max(start, end - EDGE_S), is_after))
    return spans
