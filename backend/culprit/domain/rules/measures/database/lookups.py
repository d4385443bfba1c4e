"""Lookups of a cache: how many miss an entry that the memory limit has cost, and how that has changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from culprit.domain.rules.finding import Citation, Measurement, Subject
from culprit.domain.rules.measures.derived import Detail


@dataclass(frozen=True, slots=True)
class CacheLookups:
    """Hits and misses of a second and since the cache started, and the entries that it lost in a second.

    `lost` are entries that were evicted, and those that were not stored because they did not fit.
    """

    hits: float
    misses: float
    lost: float
    all_hits: float
    all_misses: float
    detail: Detail
    citations: tuple[Citation, ...]
    subject: Subject = ()

    def measure_lost_share(self) -> Iterator[Measurement]:
        """Percent of the lookups that miss an entry for lack of memory.

        What is lost once can be missed once before it is stored again, so more memory spares no more misses than
        entries are lost. Misses of what was never stored are not among them.
        """
        every = self.hits + self.misses
        if every > 0:
            value = 100.0 * min(self.lost, self.misses) / every
            yield Measurement(value, self.subject, self.citations, 1, (), self.detail)

    def measure_miss_growth(self) -> Iterator[Measurement]:
        """How many times as large the share of misses is as since the start, the present included.

        What is behind the cache gets so many times its work.
        """
        every, total = self.hits + self.misses, self.all_hits + self.all_misses
        if every > 0 and self.all_misses > 0:
            value = (self.misses / every) / (self.all_misses / total)
            yield Measurement(value, self.subject, self.citations, 1, (), self.detail)
