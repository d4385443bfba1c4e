"""Where the numbers of a report were read: the very lines, taken along so that whoever reads it needs no account."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.core.stacks import View
from culprit.evidence import queries as evidence
from culprit.evidence import service as evidence_service
from culprit.infra.artifacts import ArtifactStore
from culprit.kit.errors import CulpritError
from culprit.models import Artifact, Profile
from culprit.profiles import queries as profiles
from culprit.profiles import service as profiles_service

Json = dict[str, Any]
MOST = 300
"""Excerpts of one report; what is beyond is named with its hash and shown without lines."""

LINES = 8
AROUND = 1
WIDTH = 400
STACKS = 5
FRAMES = 14
TREE_PX = 700
TREES = 6
TREE_NODES = 4000


class Sources:
    """Collects excerpts; the same place is taken along once. `artifacts` and `profiles` are what was cited."""

    def __init__(
        self, session: Session, actor: Actor, store: ArtifactStore, hosts: Mapping[str, str]
    ) -> None:
        self._session, self._actor, self._store, self._hosts = session, actor, store, hosts
        self.listed: list[Json] = []
        self.artifacts: dict[UUID, Json] = {}
        self.trees: list[Json] = []
        self._known: dict[object, str] = {}
        self._views: dict[UUID, tuple[Profile, View] | None] = {}

    def cite(self, citation: Mapping[str, Any]) -> str | None:
        """The id of the excerpt behind a citation; None where it names no place."""
        if profile := citation.get("profile"):
            return self._stacks(UUID(profile), str(citation.get("frame", "")))
        artifact = citation.get("artifact")
        if not artifact:
            return None
        lines = tuple(sorted(set(citation.get("lines", ()))))[:LINES]
        key = (artifact, lines)
        if key not in self._known:
            self._known[key] = self._add(self._excerpt(UUID(artifact), lines, citation))
        return self._known[key]

    def pin(self, pin: Any, texts: list[Json]) -> str:
        """The excerpt of a pin: what it showed when it was pinned."""
        key = ("pin", pin.id)
        if key not in self._known:
            said = pin.said
            if pin.kind == "frame":
                self.tree(UUID(pin.ref["profile_id"]), str(said.get("frame", "")))
            self._known[key] = self._add(
                {
                    "kind": "pin",
                    "collector": said.get("collector") or said.get("metric") or said.get("kind") or pin.kind,
                    "part": said.get("part", ""),
                    "sha256": pin.artifact,
                    "host": "",
                    "state": "intact",
                    "lines": texts,
                }
            )
        return self._known[key]

    def _add(self, source: Json) -> str:
        name = f"S{len(self.listed) + 1}"
        if len(self.listed) >= MOST:
            source = {**source, "lines": [], "state": "left_out"}
        self.listed.append({"id": name, **source})
        return name

    def _excerpt(self, artifact_id: UUID, lines: tuple[int, ...], citation: Mapping[str, Any]) -> Json:
        found = evidence.artifact(self._session, self._actor, artifact_id)
        told = {"kind": "lines", "collector": citation.get("collector", ""), "part": citation.get("part", "")}
        if found is None:
            return {**told, "sha256": None, "host": "", "state": "gone", "lines": []}
        one, run, collector = found
        host = self._hosts.get(str(run.host_id), "")
        self._note(one, collector, host)
        state, texts = self._read(one, lines)
        return {
            "kind": "lines",
            "collector": collector or "",
            "part": one.part,
            "sha256": one.sha256,
            "host": host,
            "state": state,
            "lines": texts,
        }

    def _note(self, one: Artifact, collector: str | None, host: str) -> None:
        self.artifacts[one.id] = {
            "collector": collector or "",
            "part": one.part,
            "host": host,
            "size": one.size,
            "sha256": one.sha256,
        }

    def _read(self, one: Artifact, lines: tuple[int, ...]) -> tuple[str, list[Json]]:
        """(state, lines): the cited ones with one more on either side."""
        wanted = sorted({n + d for n in lines for d in range(-AROUND, AROUND + 1) if n + d > 0})
        texts: list[Json] = []
        try:
            for first, count in _together(wanted):
                read = evidence_service.lines(self._store, one, first, count)["lines"]
                texts += [
                    {
                        "n": first + n,
                        "text": text[:WIDTH],
                        "cut": len(text) > WIDTH,
                        "cited": first + n in lines,
                    }
                    for n, text in enumerate(read)
                ]
        except CulpritError as error:
            return {"artifact.missing": "gone", "artifact.altered": "altered"}.get(error.key, "no_lines"), []
        return "intact", texts

    def _view(self, profile_id: UUID) -> tuple[Profile, View] | None:
        if profile_id not in self._views:
            found = profiles.profile(self._session, self._actor, profile_id)
            self._views[profile_id] = None
            if found is not None:
                with contextlib.suppress(CulpritError):
                    self._views[profile_id] = found, profiles_service.samples(self._store, found).view()
        return self._views[profile_id]

    def _stacks(self, profile_id: UUID, frame: str) -> str:
        key = (profile_id, frame)
        if key not in self._known:
            opened = self._view(profile_id)
            self.tree(profile_id, frame)
            raw = profiles.raw_artifact(self._session, opened[0]) if opened else None
            host = self._hosts.get(str(opened[0].host_id), "") if opened else ""
            if raw is not None:
                self._note(raw, opened[0].kind if opened else None, host)
            self._known[key] = self._add(
                {
                    "kind": "stacks",
                    "collector": opened[0].kind if opened else "",
                    "frame": frame,
                    "part": "",
                    "sha256": raw.sha256 if raw else None,
                    "host": host,
                    "state": "intact" if opened else "gone",
                    "lines": _heaviest(opened, frame),
                }
            )
        return self._known[key]

    def tree(self, profile_id: UUID, frame: str) -> None:
        """A flame graph for the report, once; its narrow frames are left out here, not hidden in it."""
        opened = self._view(profile_id)
        known = [one for one in self.trees if one["id"] == str(profile_id)]
        if known:
            known[0]["frames"] = sorted({*known[0]["frames"], *([frame] if frame else [])})
        if opened is None or known or len(self.trees) >= TREES:
            return
        profile, view = opened
        px = 1.0
        drawn = view.tree(TREE_PX, min_px=px)
        while len(drawn.id) > TREE_NODES and px < TREE_PX / 4:
            px *= 2
            drawn = view.tree(TREE_PX, min_px=px)
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
                    name: list(getattr(drawn, name))
                    for name in ("id", "level", "name", "module", "kind", "value", "own")
                },
            }
        )


def _together(wanted: list[int]) -> Iterator[tuple[int, int]]:
    """(first, count) of the runs of numbers that follow each other."""
    start = last = None
    for one in wanted:
        if start is None or last is None:
            start = last = one
        elif one == last + 1:
            last = one
        else:
            yield start, last - start + 1
            start = last = one
    if start is not None and last is not None:
        yield start, last - start + 1


def _heaviest(opened: tuple[Profile, View] | None, frame: str) -> list[Json]:
    """The heaviest stacks through a frame as lines: their innermost frames, each stack with its weight."""
    if opened is None:
        return []
    _, view = opened
    trie, names = view.profile.table.trie, view.profile.names
    ids = [n for n, name in enumerate(names) if name == frame]
    below = np.zeros(len(trie), dtype=bool)
    for node in np.flatnonzero(np.isin(trie.frame, ids)):
        below[node : int(trie.end[node])] = True
    weights = np.where(below, view.own, 0)
    found: list[Json] = []
    for node in np.argsort(weights)[::-1][:STACKS].tolist():
        if not weights[node]:
            break
        path: list[str] = []
        at = int(node)
        while at > 0 and len(path) < FRAMES:
            path.append(names[trie.frame[at]])
            at = int(trie.parent[at])
        told = {
            "n": None,
            "frames": path[::-1],
            "text": str(int(weights[node])),
            "cut": at > 0,
            "cited": True,
        }
        found.append(told)
    return found
