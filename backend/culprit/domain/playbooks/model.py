"""Model of a playbook: a checklist as data, with hypotheses, steps, branches and remediations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from collectors.contract import Text

Kind = Literal["case", "method", "snippet", "reference"]
Verdict = Literal["supports", "refutes", "inconclusive", "not_collected"]
SettledVerdict = Literal["supports", "refutes", "inconclusive"]
Better = Literal["lower", "higher"]

KINDS: tuple[Kind, ...] = ("case", "method", "snippet", "reference")
SETTLED_VERDICTS: tuple[SettledVerdict, ...] = ("supports", "refutes", "inconclusive")
#: Keys of the branches of a step: verdicts, and the default for all other verdicts.
BRANCHES = ("supports", "refutes", "otherwise")
#: Subjects of steps without a hypothesis: is there a symptom, can it be investigated, is the data good enough.
GATES = ("symptom", "prerequisite", "quality")
END = "end"
PLAYBOOK_PREFIX = "playbook:"


class StrictDataclass:
    """Base of the model: an unknown key in the YAML is an error."""

    __slots__ = ()
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True)
class PrimaryNumber(StrictDataclass):
    """Number that decides whether a fix of the hypothesis worked; it is chosen before the fix.

    `read` is the id of a metric or of a measure of the rules; `better` is the direction of an improvement.
    """

    read: str
    better: Better


@dataclass(frozen=True, slots=True)
class PlaybookHypothesis(StrictDataclass):
    """Possible explanation. `cause` is the id of the published cause, or "" without one."""

    id: str
    summary: Text
    cause: str = ""
    primary: PrimaryNumber | None = None


@dataclass(frozen=True, slots=True)
class PlaybookStep(StrictDataclass):
    """Question about one hypothesis or gate.

    `finding` is the rule that answers the question; `matched` and `not_matched` are the verdicts about `about` in these
    two states of the finding. A step without a rule is for a person, who follows `instructions`. `branches` maps each
    of BRANCHES to the id of a step, to `playbook:<id>`, or to `end`; a verdict without a branch follows `otherwise`.
    `caveat` describes how the answer can mislead, `example` what a real case showed.
    """

    id: str
    question: Text
    about: str
    branches: Mapping[str, str]
    finding: str = ""
    matched: SettledVerdict = "supports"
    not_matched: SettledVerdict = "inconclusive"
    instructions: Text | None = None
    caveat: Text | None = None
    example: Text | None = None


@dataclass(frozen=True, slots=True)
class Remediation(StrictDataclass):
    """Instructions for a fix, or background knowledge; findings link to it.

    `when` describes when it helps. `command` is "" if there is nothing to run. `verifies` is the metric or measure that
    shows the effect, and `correction` names an older recommendation that no longer holds.
    """

    id: str
    title: Text
    when: Text
    command: str = ""
    risk: Text | None = None
    rollback: Text | None = None
    verifies: str = ""
    correction: Text | None = None
    findings: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlaybookReference(StrictDataclass):
    """Source of a statement."""

    title: str
    url: str


@dataclass(frozen=True, slots=True)
class Playbook(StrictDataclass):
    """Case, method, snippet or collection of remediations. The first step is the start.

    `covered` and `not_covered` state what it answers. `dead_ends` are attempts of a real case without a result.
    `verify` describes what the same load shows after a successful fix.
    """

    id: str
    kind: Kind
    title: Text
    symptom: Text
    covered: tuple[Text, ...]
    not_covered: tuple[Text, ...]
    hypotheses: tuple[PlaybookHypothesis, ...] = ()
    steps: tuple[PlaybookStep, ...] = ()
    dead_ends: tuple[Text, ...] = ()
    remediations: tuple[Remediation, ...] = ()
    verify: Text | None = None
    references: tuple[PlaybookReference, ...] = ()

    def get_step(self, step_id: str) -> PlaybookStep:
        """Return the step, or raise KeyError."""
        for step in self.steps:
            if step.id == step_id:
                return step
        raise KeyError(step_id)
