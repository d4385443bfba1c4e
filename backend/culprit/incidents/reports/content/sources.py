"""Sources of the numbers of a report: excerpts that a reader can check without an account."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.domain.profiles.stacks import ProfileView
from culprit.evidence.profiles import queries as profiles
from culprit.evidence.profiles import service as profiles_service
from culprit.evidence.runs import queries as evidence
from culprit.evidence.runs import service as evidence_service
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.profile import Profile
from culprit.json_types import Json
from culprit.web.errors import CulpritError

MAX_EXCERPTS = 300
"""Excerpts of one report; what is beyond is named with its hash and shown without lines."""

MAX_LINES = 8
CONTEXT_LINES = 1
MAX_LINE_WIDTH = 400
MAX_STACKS = 5
MAX_FRAMES = 14
TREE_PX = 700
MAX_TREES = 6
MAX_TREE_NODES = 4000


class Sources:
    """Collects excerpts without duplicates. `artifacts` and `profiles` are the cited ones."""

    def __init__(
        self, session: Session, actor: Actor, store: ArtifactStore, hosts: Mapping[str, str]
    ) -> None:
        self._session, self._actor, self._store, self._hosts = session, actor, store, hosts
        self.listed: list[Json] = []
        self.artifacts: dict[UUID, Json] = {}
        self.trees: list[Json] = []
        self._known: dict[object, str] = {}
        self._views: dict[UUID, tuple[Profile, ProfileView] | None] = {}

    def citation(self, citation: Mapping[str, Any]) -> str | None:
        """Return the id of the excerpt of a citation, or None without a location."""
        if profile := citation.get("profile"):
            return self._add_stack_excerpt(UUID(profile), str(citation.get("frame", "")))
        artifact = citation.get("artifact")
        if not artifact:
            return None
        lines = tuple(sorted(set(citation.get("lines", ()))))[:MAX_LINES]
        key = (artifact, lines)
        if key not in self._known:
            self._known[key] = self._add_excerpt(self._build_excerpt(UUID(artifact), lines, citation))
        return self._known[key]

    def pin(self, pin: Any, texts: list[Json]) -> str:
        """Return the excerpt of a pin, as it was when it was pinned."""
        key = ("pin", pin.id)
        if key not in self._known:
            message = pin.snapshot
            if pin.kind == "frame":
                self.tree(UUID(pin.ref["profile_id"]), str(message.get("frame", "")))
            self._known[key] = self._add_excerpt(
                {
                    "kind": "pin",
                    "collector": message.get("collector")
                    or message.get("metric")
                    or message.get("kind")
                    or pin.kind,
                    "part": message.get("part", ""),
                    "sha256": pin.artifact,
                    "host": "",
                    "state": "intact",
                    "lines": texts,
                }
            )
        return self._known[key]

    def _add_excerpt(self, source: Json) -> str:
        name = f"S{len(self.listed) + 1}"
        if len(self.listed) >= MAX_EXCERPTS:
            source = {**source, "lines": [], "state": "left_out"}
        self.listed.append({"id": name, **source})
        return name

    def _build_excerpt(self, artifact_id: UUID, lines: tuple[int, ...], citation: Mapping[str, Any]) -> Json:
        artifact = evidence.find_artifact(self._session, self._actor, artifact_id)
        reported = {
            "kind": "lines",
            "collector": citation.get("collector", ""),
            "part": citation.get("part", ""),
        }
        if artifact is None:
            return {**reported, "sha256": None, "host": "", "state": "gone", "lines": []}
        item, run, collector = artifact
        host = self._hosts.get(str(run.host_id), "")
        self._record_artifact(item, collector, host)
        state, texts = self._read_lines(item, lines)
        return {
            "kind": "lines",
            "collector": collector or "",
            "part": item.part,
            "sha256": item.sha256,
            "host": host,
            "state": state,
            "lines": texts,
        }

    def _record_artifact(self, artifact: Artifact, collector: str | None, host: str) -> None:
        self.artifacts[artifact.id] = {
            "collector": collector or "",
            "part": artifact.part,
            "host": host,
            "size": artifact.size,
            "sha256": artifact.sha256,
        }

    def _read_lines(self, artifact: Artifact, lines: tuple[int, ...]) -> tuple[str, list[Json]]:
        """Return (state, lines): the cited lines with one line of context on each side."""
        line_numbers = sorted(
            {n + d for n in lines for d in range(-CONTEXT_LINES, CONTEXT_LINES + 1) if n + d > 0}
        )
        texts: list[Json] = []
        try:
            for first, count in _merge_line_ranges(line_numbers):
                read = evidence_service.read_lines(self._store, artifact, first, count)["lines"]
                texts += [
                    {
                        "n": first + n,
                        "text": text[:MAX_LINE_WIDTH],
                        "cut": len(text) > MAX_LINE_WIDTH,
                        "cited": first + n in lines,
                    }
                    for n, text in enumerate(read)
                ]
        except CulpritError as error:
            return {"artifact.missing": "gone", "artifact.altered": "altered"}.get(error.key, "no_lines"), []
        return "intact", texts

    def _find_view(self, profile_id: UUID) -> tuple[Profile, ProfileView] | None:
        if profile_id not in self._views:
            profile = profiles.find_profile(self._session, self._actor, profile_id)
            self._views[profile_id] = None
            if profile is not None:
                with contextlib.suppress(CulpritError):
                    self._views[profile_id] = (
                        profile,
                        profiles_service.load_stacks(self._store, profile).view(),
                    )
        return self._views[profile_id]

    def _add_stack_excerpt(self, profile_id: UUID, frame: str) -> str:
        key = (profile_id, frame)
        if key not in self._known:
            opened = self._find_view(profile_id)
            self.tree(profile_id, frame)
            raw = profiles.find_raw_artifact(self._session, opened[0]) if opened else None
            host = self._hosts.get(str(opened[0].host_id), "") if opened else ""
            if raw is not None:
                self._record_artifact(raw, opened[0].kind if opened else None, host)
            self._known[key] = self._add_excerpt(
                {
                    "kind": "stacks",
                    "collector": opened[0].kind if opened else "",
                    "frame": frame,
                    "part": "",
                    "sha256": raw.sha256 if raw else None,
                    "host": host,
                    "state": "intact" if opened else "gone",
                    "lines": _list_heaviest(opened, frame),
                }
            )
        return self._known[key]

    def tree(self, profile_id: UUID, frame: str) -> None:
        """Add a flame graph once; frames that are too narrow are removed."""
        opened = self._find_view(profile_id)
        known = [tree for tree in self.trees if tree["id"] == str(profile_id)]
        if known:
            known[0]["frames"] = sorted({*known[0]["frames"], *([frame] if frame else [])})
        if opened is None or known or len(self.trees) >= MAX_TREES:
            return
        profile, view = opened
        px = 1.0
        tree = view.render_tree(TREE_PX, min_px=px)
        while len(tree.id) > MAX_TREE_NODES and px < TREE_PX / 4:
            px *= 2
            tree = view.render_tree(TREE_PX, min_px=px)
        self.trees.append(
            {
                "id": str(profile_id),
                "kind": profile.kind,
                "unit": profile.unit,
                "host": self._hosts.get(str(profile.host_id), ""),
                "total": view.weight,
                "samples": view.samples,
                "lost": profile.lost,
                "frames": [frame] if frame else [],
                "tree": {
                    name: list(getattr(tree, name))
                    for name in ("id", "level", "name", "module", "kind", "value", "own")
                },
            }
        )


def _merge_line_ranges(requested: list[int]) -> Iterator[tuple[int, int]]:
    """Return (first, count) for each run of consecutive numbers."""
    start = last = None
    for item in requested:
        if start is None or last is None:
            start = last = item
        elif item == last + 1:
            last = item
        else:
            yield start, last - start + 1
            start = last = item
    if start is not None and last is not None:
        yield start, last - start + 1


def _list_heaviest(opened: tuple[Profile, ProfileView] | None, frame: str) -> list[Json]:
    """Return the heaviest stacks through a frame as lines: innermost frames and weight."""
    if opened is None:
        return []
    _, view = opened
    trie, names = view.profile.table.trie, view.profile.names
    ids = [n for n, name in enumerate(names) if name == frame]
    below = np.zeros(len(trie), dtype=bool)
    for node in np.flatnonzero(np.isin(trie.frame, ids)):
        below[node : int(trie.end[node])] = True
    weights = np.where(below, view.own, 0)
    results: list[Json] = []
    for node in np.argsort(weights)[::-1][:MAX_STACKS].tolist():
        if not weights[node]:
            break
        path: list[str] = []
        at = int(node)
        while at > 0 and len(path) < MAX_FRAMES:
            path.append(names[trie.frame[at]])
            at = int(trie.parent[at])
        reported = {
            "n": None,
            "frames": path[::-1],
            "text": str(int(weights[node])),
            "cut": at > 0,
            "cited": True,
        }
        results.append(reported)
    return results
