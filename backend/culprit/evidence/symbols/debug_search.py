"""Search debuginfod servers for the symbols of build IDs, within limits of time and bytes.

Files are read in a sandboxed process. A server is not requested again in a run after it did not answer, and for a day
for a build ID of which it has no symbols.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from collectors.runner.symbols import BLOCK
from culprit.evidence.parsing import debug_files as parser
from culprit.evidence.symbols.debuginfod import DebuginfodSource, is_build_id
from culprit.evidence.symbols.debuginfod_queries import ArtifactRef, StoredAnswer
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.models.evidence.debug_file import DEBUG_FILE_STATES
from culprit.infra.network.http_client import OutgoingError
from culprit.infra.sandbox.process import SandboxLimits, create_workspace, open_output, run_in_sandbox
from culprit.json_types import Json

MAX_RESULT_BYTES = 1 << 20
#: More than the process needs to read the headers of a file, and to copy the blocks that are kept.
SANDBOX = SandboxLimits(address_space=512 << 20, cpu_s=20, file_bytes=64 << 20, wall_s=30)


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """Limits of the search for one run.

    `file_bytes` and `total_bytes` bound what servers send, `kept_file_bytes` and `kept_bytes` what is kept of it.
    """

    max_build_ids: int = 32
    connections: int = 4
    request_s: float = 30.0
    total_s: float = 60.0
    file_bytes: int = 256 << 20
    total_bytes: int = 512 << 20
    kept_file_bytes: int = 40 << 20
    kept_bytes: int = 96 << 20


@dataclass(slots=True)
class BuildIdAnswer:
    """The answer for a build ID, of the server `source`: see `culprit.domain.profiles.debug_files.DebugAnswer`."""

    build_id: str
    state: str = "limit"
    source: DebuginfodSource | None = None
    artifact: ArtifactRef | None = None
    blocks: Sequence[Sequence[int]] = ()


@dataclass(slots=True)
class SearchResult:
    """The answers by build ID.

    `refusals` are new answers without symbols by server and build ID. `failure` is the message of the first request
    that failed. `kept_bytes` are those of new symbols.
    """

    answers: dict[str, BuildIdAnswer]
    refusals: dict[tuple[UUID, str], str] = field(default_factory=dict)
    failure: Json | None = None
    kept_bytes: int = 0


class BudgetSpentError(Exception):
    """The run may not receive or store more bytes."""


class _Budget:
    """The bytes that a run may still receive, over all connections."""

    def __init__(self, size: int) -> None:
        self._left = size
        self._lock = threading.Lock()

    def is_spent(self) -> bool:
        with self._lock:
            return self._left < 0

    def take(self, size: int) -> None:
        with self._lock:
            self._left -= size
            if self._left < 0:
                raise BudgetSpentError


class DebugSearch:
    """The search of one run. `stored` are answers of earlier runs by server and build ID."""

    def __init__(
        self,
        store: ArtifactStore,
        sources: Sequence[DebuginfodSource],
        stored: Mapping[tuple[UUID, str], StoredAnswer],
        limits: SearchLimits = SearchLimits(),
    ) -> None:
        self._store, self._sources, self._stored, self._limits = store, sources, stored, limits
        self._budget = _Budget(limits.total_bytes)
        self._ends = time.monotonic() + limits.total_s
        self._failed: set[UUID] = set()
        self._lock = threading.Lock()

    def search(self, build_ids: Sequence[str], work: Path) -> SearchResult:
        """Request the servers in their order for each build ID, until a server has its symbols.

        `work` is the directory for temporary files. The first build IDs are the most important.
        """
        result = SearchResult({build_id: BuildIdAnswer(build_id) for build_id in build_ids})
        valid = list(filter(is_build_id, build_ids))
        for source in self._sources:
            missing = [
                answer for answer in map(result.answers.get, valid) if answer and answer.state != "file"
            ]
            unknown = [answer for answer in missing if not self._use_stored(source, answer)]
            self._request(source, unknown[: self._limits.max_build_ids], work, result)
        return result

    def _use_stored(self, source: DebuginfodSource, answer: BuildIdAnswer) -> bool:
        """Use the answer of an earlier run. Return whether there is one."""
        stored = self._stored.get((source.server_id, answer.build_id))
        if stored is None:
            return False
        _update_answer(answer, source, stored.state)
        answer.artifact, answer.blocks = stored.artifact, stored.blocks
        return True

    def _request(
        self, source: DebuginfodSource, answers: Sequence[BuildIdAnswer], work: Path, result: SearchResult
    ) -> None:
        with create_workspace(work) as directory, ThreadPoolExecutor(self._limits.connections) as pool:

            def download(answer: BuildIdAnswer) -> str:
                return self._download(source, answer.build_id, directory / answer.build_id, result)

            for answer, downloaded in zip(answers, pool.map(download, answers), strict=True):
                path = directory / answer.build_id
                state = self._extract(answer, path, work, result) if downloaded == "file" else downloaded
                path.unlink(missing_ok=True)
                if state in DEBUG_FILE_STATES and state != "file":
                    result.refusals[source.server_id, answer.build_id] = state
                _update_answer(answer, source, state)

    def _download(self, source: DebuginfodSource, build_id: str, path: Path, result: SearchResult) -> str:
        """Download a file. Return `file`, or the state without it."""
        total_s = min(self._limits.request_s, self._ends - time.monotonic())
        if source.server_id in self._failed:
            return "failed"
        if total_s < 1 or self._budget.is_spent():
            return "limit"
        try:
            with path.open("wb") as file:

                def write(piece: bytes) -> None:
                    self._budget.take(len(piece))
                    with _report_full_disk():
                        file.write(piece)

                has_file = source.download(build_id, write, total_s=total_s, limit=self._limits.file_bytes)
        except (BudgetSpentError, OSError):
            return "limit"
        except OutgoingError as error:
            if error.kind == "too_large":
                return "too_large"
            if error.kind == "timeout" and total_s < self._limits.request_s:
                return "limit"
            with self._lock:
                result.failure = result.failure or error.sentence
                if error.kind != "status":
                    self._failed.add(source.server_id)
            return "failed"
        return "file" if has_file else "absent"

    def _extract(self, answer: BuildIdAnswer, path: Path, work: Path, result: SearchResult) -> str:
        """Store the symbols of a downloaded file. Return the state."""
        if time.monotonic() > self._ends:
            return "limit"
        left = self._limits.kept_bytes - result.kept_bytes
        request = {
            "path": str(path),
            "build_id": answer.build_id,
            "max_bytes": min(self._limits.kept_file_bytes, left),
        }
        with create_workspace(work) as directory:
            ended = run_in_sandbox(
                parser.__name__, {"answer": request}, directory, SANDBOX, inputs=[str(path)]
            )
            if ended.verdict != "ok":
                return "unreadable"
            with open_output(directory / parser.RESULT) as stream:
                extracted = json.loads(stream.read(MAX_RESULT_BYTES))
            state = str(extracted["state"])
            blocks = [[int(first), int(count)] for first, count in extracted["blocks"]]
            if state == "too_large" and left < self._limits.kept_file_bytes:
                return "limit"
            if state != "file":
                return state
            size = BLOCK * sum(count for _, count in blocks)
            with open_output(directory / parser.BLOCKS) as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
                if stream.tell() != size or any(first < 0 or count < 1 for first, count in blocks):
                    return "unreadable"
            stored = self._store.adopt(directory / parser.BLOCKS, digest)
        answer.artifact = ArtifactRef(None, stored.sha256, size, stored.size, "identity")
        answer.blocks = blocks
        result.kept_bytes += size
        return state


@contextmanager
def _report_full_disk() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BudgetSpentError from error


#: The state that is stated if servers answered differently: the first of these.
_PRECEDENCE = ("file", "mismatch", "too_large", "no_symbols", "unreadable", "failed", "limit", "absent")


def _update_answer(answer: BuildIdAnswer, source: DebuginfodSource, state: str) -> None:
    is_first = answer.source is None
    if is_first or _PRECEDENCE.index(state) < _PRECEDENCE.index(answer.state):
        answer.state, answer.source = state, source
