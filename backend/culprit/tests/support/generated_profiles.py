"""Profiles of a made-up service, with seeds: stacks of many functions whose share comes in bursts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from culprit.domain.profiles.stacks import StackProfile

from collectors.profiles.samples import SampleTable
from collectors.profiles.trie import FrameKind, Strings, TrieBuilder

RATE = 198.0
"""Samples per second of two busy CPUs at 99 Hz."""


@dataclass(frozen=True)
class Load:
    """What a service does. `burst_s`: how long a burst lasts, 0 for independent samples; `strength` of bursts as the
    standard deviation of the logarithm of a stack's share. `seed` makes the stacks, not the samples."""

    stacks: int = 120
    seconds: float = 60.0
    burst_s: float = 0.0
    strength: float = 0.0
    seed: int = 1
    unit: str = "samples"

    def shares(self) -> np.ndarray:
        """The share of each stack, heavy-tailed."""
        shares = np.random.default_rng(self.seed).pareto(1.2, self.stacks) + 0.02
        return shares / shares.sum()

    def paths(self) -> list[list[str]]:
        """The functions of each stack, outermost first; they share callers."""
        rng = np.random.default_rng(self.seed + 1)
        return [
            ["serve", f"handle{rng.integers(4)}", f"step{rng.integers(12)}", f"work{i % 60}", f"leaf{i}"]
            for i in range(self.stacks)
        ]


def record(
    load: Load, seed: int, factors: dict[int, float] | None = None, has_time: bool = True
) -> StackProfile:
    """Sample the load. `factors`: stack → how much more of it there is, the rest of the load staying as it is."""
    rng = np.random.default_rng(seed)
    shares = load.shares()
    for stack, factor in (factors or {}).items():
        shares[stack] *= factor
    step_s = max(min(load.burst_s / 4, 0.25), 0.05) if load.burst_s else load.seconds
    steps = max(1, round(load.seconds / step_s))
    intensity = np.tile(shares, (steps, 1))
    if load.burst_s and load.strength:
        keep = np.exp(-step_s / load.burst_s)
        level = rng.normal(0, 1, load.stacks)
        for step in range(steps):
            level = keep * level + np.sqrt(1 - keep**2) * rng.normal(0, 1, load.stacks)
            intensity[step] *= np.exp(load.strength * level - load.strength**2 / 2)
    counts = rng.poisson(intensity * RATE * load.seconds / steps)
    step, stack = np.nonzero(counts)
    repeats = counts[step, stack]
    t_ns = ((np.repeat(step, repeats) + rng.random(repeats.sum())) * load.seconds / steps * 1e9).astype(
        np.int64
    )
    return build_profile(load.paths(), t_ns, np.repeat(stack, repeats), has_time=has_time)


def build_profile(
    paths: list[list[str]],
    t_ns: np.ndarray,
    stack: np.ndarray,
    *,
    weight: np.ndarray | None = None,
    has_time: bool = True,
) -> StackProfile:
    """A profile of one thread with these samples: times [n] and the index of each path [n]."""
    builder = TrieBuilder()
    comm = builder.frame_id("service", "", FrameKind.COMM)
    leaves = [
        builder.extend(0, [comm, *(builder.frame_id(name, "service", FrameKind.USER) for name in path)])
        for path in paths
    ]
    trie, frames, position = builder.finish()
    n = len(t_ns)
    plain = np.zeros(n, np.int32)
    table = SampleTable(
        t_ns=t_ns, cpu=plain, pid=plain + 1, tid=plain + 1, comm=plain,
        weight=np.ones(n, np.int64) if weight is None else weight,
        stack=position[np.array(leaves)[stack]].astype(np.int32), event=np.zeros(n, np.uint8),
        comms=Strings.of(["service"]), frames=frames, trie=trie, events=("cpu-clock",),
        unit="samples" if weight is None else "ns", has_time=has_time,
    )  # fmt: skip
    return StackProfile(table.sorted())
