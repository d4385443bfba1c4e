"""How parsers of sampled files end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from collectors.contract import Parsed, Sentence, Series


def build_series_result(
    series: Sequence[Series], warnings: Sequence[Sentence], facts: Mapping[str, object] | None = None
) -> Parsed:
    """What was read; without a single series there were too few samples, and it counts as unreadable."""
    if series:
        return Parsed(series=tuple(series), warnings=tuple(warnings), facts=facts or {})
    too_few = Sentence("warning.too_few_samples")
    return Parsed(warnings=(*warnings, too_few), facts=facts or {}, readable=False)
