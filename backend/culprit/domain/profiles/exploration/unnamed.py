"""List the modules of frames without a symbol, each with the reason."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from collectors.profiles.trie import FrameKind
from culprit.domain.profiles.stacks import ProfileView

Reason = Literal["no_mapping", "kernel", "jit", "deleted", "vdso", "guest", "stripped"]
REASONS: tuple[Reason, ...] = get_args(Reason)

MAX_MODULES = 50

_PATTERNS: tuple[tuple[Reason, re.Pattern[str]], ...] = (
    ("guest", re.compile(r"^\[guest")),
    ("kernel", re.compile(r"^\[kernel|\.ko(\.[a-z0-9]+)?$|(^|/)vmlinux")),
    ("kernel", re.compile(r"^\[(?!vdso|vsyscall|anon|heap|stack)[a-z0-9_]+\]$")),
    ("vdso", re.compile(r"^\[(vdso|vsyscall)")),
    ("jit", re.compile(r"^(//anon|\[anon|\[heap|\[stack|/memfd:|/dev/zero|/SYSV)|(^|/)perf-\d+\.map$")),
    ("deleted", re.compile(r" \(deleted\)$")),
)


@dataclass(frozen=True, slots=True)
class UnnamedFrames:
    """A module with innermost frames without a symbol: the weight of their samples, and the number of frames."""

    module: str
    reason: Reason
    weight: int
    frames: int


def classify_unnamed(module: str) -> Reason:
    """Return the reason why frames of a module have no symbol.

    `no_mapping`: the address is in no file, as after broken unwinding. `kernel`: the kernel symbols were not
    readable. `jit`: memory without a file, so code of a JIT compiler. `deleted`: the file was replaced after
    the start of the process. `stripped`: the file has no symbol table.
    """
    if not module or module == "[unknown]":
        return "no_mapping"
    return next((reason for reason, pattern in _PATTERNS if pattern.search(module)), "stripped")


def list_unnamed_modules(view: ProfileView, limit: int = MAX_MODULES) -> list[UnnamedFrames]:
    """List the modules of innermost frames without a symbol, the heaviest first."""
    profile = view.profile
    trie, frames = profile.table.trie, profile.table.frames
    own = np.zeros(len(frames), np.int64)
    np.add.at(own, trie.frame, view.own)
    unnamed = np.flatnonzero((frames.kind == FrameKind.UNKNOWN) & (own > 0))
    modules, group = np.unique(frames.module[unnamed], return_inverse=True)
    weight = np.zeros(len(modules), np.int64)
    np.add.at(weight, group, own[unnamed])
    counts = np.bincount(group, minlength=len(modules))
    words = frames.strings
    return [
        UnnamedFrames(
            words[int(modules[i])], classify_unnamed(words[int(modules[i])]), int(weight[i]), int(counts[i])
        )
        for i in np.argsort(-weight, kind="stable")[:limit].tolist()
    ]
