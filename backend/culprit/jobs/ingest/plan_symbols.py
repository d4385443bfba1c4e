"""Reuse the stored symbols of a run's profiles, and plan the fetch of missing ones."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.runner import symbols
from culprit.domain.profiles import debug_files
from culprit.evidence.symbols.debuginfod_queries import has_servers
from culprit.evidence.symbols.queries import KERNEL, StoredSymbols, load_symbol_files, store_symbol_files
from culprit.evidence.symbols.requests import (
    READER,
    list_generated,
    list_keys,
    list_missing_files,
    list_programs,
)
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.symbol_file import SymbolFile
from culprit.infra.task_queue import enqueue_after_commit
from culprit.jobs.ingest.queries import find_run_collector, list_profiles

#: Processes end, and most of their files cannot be read afterwards.
FETCH_WITHIN_NS = 600 * 10**9


def plan_symbols(session: Session, run: Run) -> None:
    """Add the stored symbols to a run, and plan to fetch the missing ones.

    All symbols of a run are parts of its collector `symbols`, so that it can be built again and exported. The fetch
    cannot fail the run. Profiles are built after it.
    """
    profiles = [
        profile
        for profile in list_profiles(session, run.id)
        if (profile.source or {}).get("reader") == READER
    ]
    if not profiles or run.host_id is None or find_run_collector(session, run.id, symbols.ID) is not None:
        return
    _store_kernel_symbols(session, run, profiles)
    session.flush()
    sources = [profile.source or {} for profile in profiles]
    known = load_symbol_files(session, run.host_id, [key for source in sources for key in list_keys(source)])
    is_missing = bool(list_missing_files(sources, known) or list_generated(sources))
    planned = RunCollector(
        run_id=run.id,
        collector=symbols.ID,
        state="queued" if is_missing and _is_fresh(session, profiles) else "done",
        method=symbols.METHOD.name,
    )
    session.add(planned)
    session.flush()
    _add_known_symbols(session, planned, known)
    if planned.state == "queued":
        enqueue_after_commit(session, "culprit.fetch_symbols", run.id)
    else:
        plan_debug_files(session, run.id, run.host_id)


def plan_debug_files(session: Session, run_id: UUID, host_id: UUID) -> bool:
    """Plan to request what the host did not have from debuginfod servers. Return whether there is something to request.

    It is planned after the fetch from the host. Without a server that an admin allowed, nothing is planned.
    """
    if not has_servers(session) or find_run_collector(session, run_id, debug_files.ID) is not None:
        return False
    sources = [profile.source for profile in list_profiles(session, run_id) if profile.source]
    sources = [source for source in sources if source["reader"] == READER]
    known = load_symbol_files(session, host_id, [key for source in sources for key in list_keys(source)])
    if not list_programs(sources, known):
        return False
    session.add(
        RunCollector(run_id=run_id, collector=debug_files.ID, state="queued", method=debug_files.METHOD)
    )
    session.flush()
    enqueue_after_commit(session, "culprit.fetch_debug_files", run_id)
    return True


def enqueue_builds(session: Session, run_id: UUID) -> None:
    """Build the profiles of a run that have waited for its symbols."""
    for profile in list_profiles(session, run_id):
        if profile.state == "queued":
            enqueue_after_commit(session, "culprit.build_profile", profile.id)


def _add_known_symbols(session: Session, planned: RunCollector, known: Mapping[str, StoredSymbols]) -> None:
    """Add parts of earlier runs to this one, with the index that describes them. No bytes are stored twice."""
    blocks = {key: stored.blocks for key, stored in known.items() if not key.startswith(KERNEL)}
    text = symbols.describe_known(blocks).encode("ascii")
    blob = artifact_store().put([text], len(text) + 1)
    index = {"sha256": blob.sha256, "size": len(text), "stored_size": blob.size, "encoding": "identity"}
    rows = [(symbols.KNOWN, "text/plain; charset=utf-8", index)]
    for key, stored in known.items():
        name = symbols.KALLSYMS if key.startswith(KERNEL) else symbols.name_blocks_part(key)
        of = stored.artifact
        columns = {column: getattr(of, column) for column in ("sha256", "size", "stored_size", "encoding")}
        rows.append((name, of.media_type, columns))
    for name, media_type, columns in rows:
        session.add(
            Artifact(
                run_id=planned.run_id,
                run_collector_id=planned.id,
                part=name,
                media_type=media_type,
                **columns,
            )
        )


def _store_kernel_symbols(session: Session, run: Run, profiles: Sequence[Profile]) -> None:
    assert run.host_id is not None
    files = [
        SymbolFile(
            key=KERNEL + profile.source["kernel"],
            artifact_id=profile.source["artifacts"][symbols.KALLSYMS],
            blocks=[],
        )
        for profile in profiles
        if profile.source and symbols.KALLSYMS in profile.source["artifacts"]
    ]
    if files:
        store_symbol_files(session, run.host_id, files)


def _is_fresh(session: Session, profiles: Sequence[Profile]) -> bool:
    collectors = [session.get(RunCollector, profile.run_collector_id) for profile in profiles]
    ended_ns = max((item.ended_ns or 0 for item in collectors if item), default=0)
    return time.time_ns() - ended_ns < FETCH_WITHIN_NS
