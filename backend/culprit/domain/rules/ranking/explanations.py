"""Which causes explain which: the declared graph from causes to their consequences, and how pairs are decided.

A cause works through mechanisms (activities of threads, `Cause.mechanisms`) and has other causes as consequences
(`Cause.explains`). An explanation is transitive: a disk explains a lock that is held while writing, the lock explains
full workers, so the disk explains full workers too, whether or not the lock was named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from culprit.domain.rules.cause import Cause


@dataclass(frozen=True, slots=True)
class MutualPair:
    """Two causes that can explain each other.

    `first` explains `second`, unless a rule in `reversed_by` matched and none in `kept_by`. Without rules that reverse
    it, the cause that ranks higher explains the other.
    """

    first: str
    second: str
    reversed_by: tuple[str, ...] = ()
    kept_by: tuple[str, ...] = ()


#: Segments with data are sent again, and no other host is late.
_LOST = ("F-NET-LOSS-ELSEWHERE", "F-NET-LOSS-ON-PATH")
#: The mean write of a device is large, and requests wait in its queue.
_BULK = ("F-DISK-BULK-WRITES", "F-DISK-BULK-QUEUE")
#: All pairs of causes that declare each other. A test requires that the graph has no other cycle.
MUTUAL_PAIRS: tuple[MutualPair, ...] = (
    MutualPair("ephemeral-port-exhaustion", "timewait-port-search"),
    # Clients that give up while they queue leave closed connections behind. A leak fills the table of open files first.
    MutualPair(
        "worker-pool-exhausted", "fd-leak-close-wait", ("F-FD-LEAK", "F-FILES-REACHED", "F-FILES-NEAR")
    ),
    # A process that may open no file accepts no connection, and clients give up. A leak is what fills its table.
    MutualPair("file-descriptor-limit", "fd-leak-close-wait", ("F-FD-LEAK",)),
    # A full queue drops handshakes, which looks like loss. Lost data segments are loss, and fill workers and queues.
    MutualPair("worker-pool-exhausted", "packet-loss-upstream", _LOST),
    MutualPair("listen-queue-overflow", "packet-loss-upstream", _LOST),
    # Small writes that wait for a device keep it busy. Where its mean write is large, it is busy with others: the small
    # ones wait in the queue that the large ones make.
    MutualPair("sync-write-amplification", "disk-saturation", _BULK),
    # A resolver that gives up reports a failure too, in the same words (EAI_AGAIN of getaddrinfo(3)). Where queries
    # or test queries were seen to wait, that is the reason of what logs report, unless all servers fail.
    MutualPair(
        "failing-name-resolution",
        "slow-name-resolution",
        ("F-DNS-UNANSWERED", "F-DNS-SERVER-SLOW"),
        ("F-DNS-SERVER-FAILS",),
    ),
)


@dataclass(frozen=True, slots=True)
class Exclusion:
    """`causes` do not explain `consequence` where `rule` matched."""

    consequence: str
    causes: frozenset[str]
    rule: str


#: A server that has too little of something at all times never empties its queue. A queue that was full in one sample
#: and empty in another one is too short for a burst, or its server stopped for a moment.
EXCLUSIONS: tuple[Exclusion, ...] = (
    Exclusion(
        "listen-queue-overflow",
        frozenset(
            {
                "cpu-exhausted",
                "cpu-neighbour-contention",
                "cpuset-too-small",
                "thread-oversubscription",
                "kernel-thread-busy",
                "worker-pool-exhausted",
                "connection-limit",
                "connection-pool-exhausted",
                "database-connection-limit",
                "fd-leak-close-wait",
                "file-descriptor-limit",
                "process-limit",
            }
        ),
        "F-NET-QUEUE-EMPTIES",
    ),
    # With O_SYNC each write waits for the device, so a few lines are enough.
    Exclusion("sync-write-amplification", frozenset({"log-flood"}), "F-FD-OSYNC"),
    # Without inodes, programs report ENOSPC as they do without blocks. A file system that was measured full is another.
    Exclusion("disk-full", frozenset({"inodes-exhausted"}), "F-FS-FULL"),
    Exclusion("disk-full", frozenset({"inodes-exhausted"}), "F-FS-NEARLY-FULL"),
)


@dataclass(frozen=True, slots=True)
class ExplanationGraph:
    """The consequences of each cause, direct ones in `edges` and all of them in `reachable`."""

    edges: Mapping[str, frozenset[str]]
    reachable: Mapping[str, frozenset[str]]

    def is_explained_by(self, consequence: str, cause: str) -> bool:
        """Return whether a cause explains another one, directly or through others."""
        return consequence != cause and consequence in self.reachable.get(cause, frozenset())


def build_graph(
    causes: Mapping[str, Cause],
    order: Sequence[str] = (),
    matched: Collection[str] = (),
    pairs: Iterable[MutualPair] = MUTUAL_PAIRS,
    exclusions: Iterable[Exclusion] = EXCLUSIONS,
) -> ExplanationGraph:
    """Return the graph after each mutual pair and each exclusion is decided.

    Args:
        causes: All causes by ID.
        order: IDs of candidates, the highest first; decides pairs that no rule decides.
        matched: IDs of rules that matched.
        pairs: The declared pairs.
        exclusions: The declared exclusions.
    """
    edges = {cause.id: set(cause.explains) for cause in causes.values()}
    rank = {name: at for at, name in enumerate(order)}
    for pair in pairs:
        if pair.first not in edges or pair.second not in edges:
            continue
        above, below = pair.first, pair.second
        reverse = any(rule in matched for rule in pair.reversed_by)
        reverse = reverse and not any(rule in matched for rule in pair.kept_by)
        if not pair.reversed_by:
            reverse = rank.get(below, len(rank)) < rank.get(above, len(rank))
        if reverse:
            above, below = below, above
        edges[below].discard(above)
        edges[above].add(below)
    for exclusion in exclusions:
        if exclusion.rule in matched:
            for name in exclusion.causes & edges.keys():
                edges[name].discard(exclusion.consequence)
    frozen = {name: frozenset(targets) for name, targets in edges.items()}
    return ExplanationGraph(frozen, {name: _reach(name, frozen) for name in frozen})


def _reach(start: str, edges: Mapping[str, frozenset[str]]) -> frozenset[str]:
    reached: set[str] = set()
    pending = list(edges[start])
    while pending:
        name = pending.pop()
        if name not in reached:
            reached.add(name)
            pending += edges.get(name, ())
    return frozenset(reached)


def find_cycle(graph: ExplanationGraph) -> tuple[str, ...]:
    """Return the causes of a cycle, sorted; empty if there is none."""
    for name, reached in sorted(graph.reachable.items()):
        if name in reached:
            return tuple(sorted({name, *(item for item in reached if name in graph.reachable.get(item, ()))}))
    return ()


def list_unknown_ids(graph: ExplanationGraph) -> tuple[str, ...]:
    """Return IDs that are explained and that are not defined, sorted."""
    return tuple(sorted({item for targets in graph.edges.values() for item in targets} - graph.edges.keys()))
