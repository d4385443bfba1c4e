"""Plan the fetch of what names the functions of a run's profiles."""

from __future__ import annotations

import time
from collections.abc import Sequence

from sqlalchemy.orm import Session

from collectors.runner import symbols
from culprit.evidence.symbols.queries import KERNEL, load_symbol_files, store_symbol_files
from culprit.evidence.symbols.requests import READER, list_generated, list_keys, list_missing_files
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.symbol_file import SymbolFile
from culprit.infra.task_queue import enqueue_after_commit
from culprit.jobs.ingest.queries import find_run_collector, list_profiles

KALLSYMS = "kallsyms"
#: Processes end: later, most of their files cannot be read any more.
FETCH_WITHIN_NS = 600 * 10**9


def plan_symbols(session: Session, run: Run) -> None:
    """Store the symbols of the kernel that the run brought, and plan to fetch those of files that are missing.

    The fetch is a collector of its own, so that its failure does not fail the run. Profiles are built after it.
    """
    profiles = [
        profile
        for profile in list_profiles(session, run.id)
        if (profile.source or {}).get("reader") == READER
    ]
    if not profiles or run.host_id is None:
        return
    _store_kernel_symbols(session, run, profiles)
    if find_run_collector(session, run.id, symbols.ID) is not None or not _is_fresh(session, profiles):
        return
    sources = [profile.source or {} for profile in profiles]
    known = load_symbol_files(session, run.host_id, [key for source in sources for key in list_keys(source)])
    if list_missing_files(sources, known) or list_generated(sources):
        session.add(
            RunCollector(run_id=run.id, collector=symbols.ID, state="queued", method=symbols.METHOD.name)
        )
        session.flush()
        enqueue_after_commit(session, "culprit.fetch_symbols", run.id)


def _store_kernel_symbols(session: Session, run: Run, profiles: Sequence[Profile]) -> None:
    assert run.host_id is not None
    files = [
        SymbolFile(
            key=KERNEL + profile.source["kernel"],
            artifact_id=profile.source["artifacts"][KALLSYMS],
            blocks=[],
        )
        for profile in profiles
        if profile.source and KALLSYMS in profile.source["artifacts"]
    ]
    if files:
        store_symbol_files(session, run.host_id, files)


def _is_fresh(session: Session, profiles: Sequence[Profile]) -> bool:
    collectors = [session.get(RunCollector, profile.run_collector_id) for profile in profiles]
    ended_ns = max((item.ended_ns or 0 for item in collectors if item), default=0)
    return time.time_ns() - ended_ns < FETCH_WITHIN_NS
