"""Relevance of playbooks in an incident: a playbook without open hypotheses does not block the incident."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from culprit.domain.playbooks.merge import PlaybookWalk

PlaybookState = Literal["active", "refuted", "dismissed"]
#: Decisions that keep the playbook of a hypothesis in use.
CAUSE_STATES = frozenset({"likely", "confirmed"})
#: Gates that make evidence doubtful while they are open.
BLOCKING_GATES = frozenset({"prerequisite", "quality"})


def playbook_state(
    walk: PlaybookWalk, decided: Mapping[str, str], *, dismissed: bool = False
) -> PlaybookState:
    """Return whether a playbook is in use, refuted or dismissed.

    `decided` maps keys of hypotheses to decisions of people. A playbook with a likely or confirmed hypothesis stays in
    use. So does a playbook without hypotheses, unless it is dismissed.
    """
    states = [decided.get(walk.key(hypothesis.id), "open") for hypothesis in walk.playbook.hypotheses]
    if CAUSE_STATES.intersection(states):
        return "active"
    if dismissed:
        return "dismissed"
    doubtful = any(walk.playbook.get_step(name).about in BLOCKING_GATES for name in walk.chain.gaps)
    out = [
        state == "refuted" or (not doubtful and walk.chain.hypotheses[item.id].status == "refuted")
        for item, state in zip(walk.playbook.hypotheses, states, strict=True)
    ]
    return "refuted" if out and all(out) else "active"
