"""A view as folded stacks."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.profiles.limits import to_printable
from collectors.profiles.trie import INLINED, FrameKind
from culprit.domain.profiles.stacks import ProfileView

_MARKS = {FrameKind.KERNEL: "_[k]", FrameKind.IDLE: "_[k]", FrameKind.JIT: "_[j]"}


def write_folded(view: ProfileView) -> Iterator[str]:
    """Yield `task;outer;…;inner weight`, a line per stack, in the order of the trie.

    A semicolon in a name becomes a colon, as the format has no way to quote it. `_[k]`, `_[j]` and `_[i]` mark kernel
    functions, compiled code and inlined calls, as `stackcollapse-perf.pl --all` does.
    """
    trie, frames = view.profile.table.trie, view.profile.table.frames
    words = [
        name.replace(";", ":") + ("_[i]" if flags & INLINED else _MARKS.get(FrameKind(kind), ""))
        for name, kind, flags in zip(
            map(to_printable, view.profile.names), frames.kind.tolist(), frames.flags.tolist(), strict=True
        )
    ]
    path: list[str] = []
    weights = view.own.tolist()
    ids, depths = trie.frame.tolist(), trie.depth.tolist()
    for node in range(1, len(trie)):
        del path[depths[node] - 1 :]
        path.append(words[ids[node]])
        if weights[node]:
            yield f"{';'.join(path)} {weights[node]}\n"
