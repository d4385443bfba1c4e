"""What a cause is: the words that a diagnosis may name, and what it knows of each."""

from __future__ import annotations

from dataclasses import dataclass

from collectors.contract import Text


@dataclass(frozen=True, slots=True)
class Cause:
    """One root cause. Its id is published and for ever.

    `what` tells in one sentence how it hurts; `fix` what to change, `risk` what that may break and how to take
    it back, `verify` what must look different afterwards. `explains` are causes that are not named beside this
    one, being its consequences. `suspected_by` are rules that open the hypothesis when they fire, however weak;
    `tested_by` are the collectors of a next stage that can settle it. `proven_by` names the faults of the lab
    in which it was named rightly; without one it is never more than `possible`.
    """

    id: str
    title: Text
    what: Text
    fix: Text
    risk: Text
    verify: Text
    explains: tuple[str, ...] = ()
    suspected_by: tuple[str, ...] = ()
    tested_by: tuple[str, ...] = ()
    proven_by: tuple[str, ...] = ()
