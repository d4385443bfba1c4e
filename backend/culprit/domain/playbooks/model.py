"""What a playbook is: a checklist as data. Hypotheses, steps that each ask one question, and where to go next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from collectors.contract import Text

Kind = Literal["case", "method", "snippet", "reference"]
Verdict = Literal["supports", "refutes", "inconclusive", "not_collected"]
Settled = Literal["supports", "refutes", "inconclusive"]
Better = Literal["lower", "higher"]

KINDS: tuple[Kind, ...] = ("case", "method", "snippet", "reference")
SETTLED: tuple[Settled, ...] = ("supports", "refutes", "inconclusive")
#: Where a step leads: verdicts, and what is left when neither was reached.
WAYS = ("supports", "refutes", "otherwise")
#: What steps are about that no cause stands behind: is there a symptom at all, may one look, is the capture any good.
GATES = ("symptom", "prerequisite", "quality")
END = "end"
ELSEWHERE = "playbook:"


class Written:
    """Written by hand: a key that means nothing is a mistake, not ignored."""

    __slots__ = ()
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True)
class Primary(Written):
    """The number by which a fix of this hypothesis is judged, chosen before anything is fixed.

    `read` is the id of a metric or of a measure of the rules; `better` says which way it should go.
    """

    read: str
    better: Better


@dataclass(frozen=True, slots=True)
class Hypothesis(Written):
    """One explanation. `cause` is the published cause that it would be, "" where none is."""

    id: str
    says: Text
    cause: str = ""
    primary: Primary | None = None


@dataclass(frozen=True, slots=True)
class Step(Written):
    """One question about one hypothesis (or gate).

    `finding` is the rule that answers it; `fired` and `quiet` are the verdicts that its firing and its silence
    mean for `about`. A step without a rule is for a person: `look` says at what. `then` maps each of WAYS to the
    id of a step, to `playbook:<id>`, or to `end`; a verdict that it does not name goes the way of `otherwise`.
    `beware` tells how the answer can mislead, `seen` what a real case showed there.
    """

    id: str
    asks: Text
    about: str
    then: Mapping[str, str]
    finding: str = ""
    fired: Settled = "supports"
    quiet: Settled = "inconclusive"
    look: Text | None = None
    beware: Text | None = None
    seen: Text | None = None


@dataclass(frozen=True, slots=True)
class Card(Written):
    """One thing to do or to know, linked from findings.

    `when` it helps, the `command` ("" for a card that only explains), its `risk`, the way `back`, the metric or
    measure that `verifies` it, and what an older recommendation says that no longer holds (`correction`).
    """

    id: str
    title: Text
    when: Text
    command: str = ""
    risk: Text | None = None
    back: Text | None = None
    verifies: str = ""
    correction: Text | None = None
    findings: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reference(Written):
    """Where a statement is from."""

    title: str
    url: str


@dataclass(frozen=True, slots=True)
class Playbook(Written):
    """A case, a method, a snippet, or a collection of cards. The first step is where it begins.

    `covered` and `not_covered` say what it answers and what it does not; `dead_ends` what was tried in a real case
    and led nowhere; `cards` are its fixes; `verify` tells what the same load shows once the fix holds.
    """

    id: str
    kind: Kind
    title: Text
    symptom: Text
    covered: tuple[Text, ...]
    not_covered: tuple[Text, ...]
    hypotheses: tuple[Hypothesis, ...] = ()
    steps: tuple[Step, ...] = ()
    dead_ends: tuple[Text, ...] = ()
    cards: tuple[Card, ...] = ()
    verify: Text | None = None
    references: tuple[Reference, ...] = ()

    def step(self, name: str) -> Step:
        """The step of that id. Raises KeyError."""
        for one in self.steps:
            if one.id == name:
                return one
        raise KeyError(name)
