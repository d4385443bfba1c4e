"""Which playbooks of an incident are still asked. What is out of play holds nobody up, and says why it is out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from culprit.core.playbooks.merge import Walked

Play = Literal["asked", "refuted", "aside"]
#: A hypothesis that somebody stands by: what its playbook asks is asked to the end.
CAUSE = frozenset({"likely", "confirmed"})
#: Gates that make evidence doubtful while they are open: was one able to look, is the capture any good.
DOUBTING = frozenset({"prerequisite", "quality"})


def play(walked: Walked, decided: Mapping[str, str], *, aside: bool = False) -> Play:
    """Whether a playbook is in play, and if not, why: nothing of it is left, or somebody set it aside with a reason.

    `decided` is what people decided about hypotheses, by key. A playbook that a likely or confirmed cause comes from
    stays in play whatever else was said of it, and so does one without hypotheses, which nothing can refute.
    """
    states = [decided.get(walked.key(one.id), "open") for one in walked.playbook.hypotheses]
    if CAUSE.intersection(states):
        return "asked"
    if aside:
        return "aside"
    doubtful = any(walked.playbook.step(name).about in DOUBTING for name in walked.chain.gaps)
    out = [
        state == "refuted" or (not doubtful and walked.chain.stands[one.id].standing == "refuted")
        for one, state in zip(walked.playbook.hypotheses, states, strict=True)
    ]
    return "refuted" if out and all(out) else "asked"
