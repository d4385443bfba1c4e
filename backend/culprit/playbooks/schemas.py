"""What goes in and out about playbooks."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from culprit.core.playbooks.contract import Better, Kind, Settled, Verdict

Sentence = dict[str, Any]


class TextRead(BaseModel):
    """A fixed text."""

    en: str
    zh: str


class PrimaryRead(BaseModel):
    """The number by which a fix is judged."""

    read: str
    better: Better


class HypothesisRead(BaseModel):
    """One explanation."""

    id: str
    says: TextRead
    cause: str
    primary: PrimaryRead | None


class StepRead(BaseModel):
    """One question: answered by a rule (`finding`) or by a person (`look`)."""

    id: str
    asks: TextRead
    about: str
    then: dict[str, str]
    finding: str
    fired: Settled
    quiet: Settled
    look: TextRead | None
    beware: TextRead | None
    seen: TextRead | None


class CardRead(BaseModel):
    """One thing to do or to know."""

    id: str
    title: TextRead
    when: TextRead
    command: str
    risk: TextRead | None
    back: TextRead | None
    verifies: str
    correction: TextRead | None
    findings: list[str]
    causes: list[str]


class ReferenceRead(BaseModel):
    """Where a statement is from."""

    title: str
    url: str


class PlaybookSummary(BaseModel):
    """A playbook in a list. `findings` are the rules that its steps and cards name, `causes` its hypotheses' causes."""

    id: str
    kind: Kind
    title: TextRead
    symptom: TextRead
    steps: int
    cards: int
    findings: list[str]
    causes: list[str]


class PlaybookRead(BaseModel):
    """A playbook in full."""

    id: str
    kind: Kind
    title: TextRead
    symptom: TextRead
    covered: list[TextRead]
    not_covered: list[TextRead]
    hypotheses: list[HypothesisRead]
    steps: list[StepRead]
    dead_ends: list[TextRead]
    cards: list[CardRead]
    verify: TextRead | None
    references: list[ReferenceRead]


class PlaybookCheck(BaseModel):
    """A playbook to be checked, as YAML."""

    text: str = Field(max_length=256 * 1024)


class ProblemRead(BaseModel):
    """One mistake and where: `steps.slow-connect.then`."""

    where: str
    what: Sentence


class CheckRead(BaseModel):
    """What is wrong with a playbook; the playbook itself where nothing is."""

    problems: list[ProblemRead]
    playbook: PlaybookRead | None


class AnswerRead(BaseModel):
    """The verdict of one step, by whom, and the findings that it rests on."""

    step: str
    verdict: Verdict
    by: Literal["rule", "person", "nobody"]
    grade: str
    reason: Sentence | None
    findings: list[dict[str, Any]]


class StandRead(BaseModel):
    """Where a hypothesis stands, and the steps that say so."""

    hypothesis: str
    standing: Literal["open", "supported", "refuted", "contested"]
    supports: list[str]
    refutes: list[str]
    grade: str


class ProposalRead(BaseModel):
    """The step to take next, what it captures, and why this one."""

    step: str
    collectors: list[str]
    tier: str
    why: Sentence


class ChainRead(BaseModel):
    """A playbook tried against a run: the steps gone through, what is missing among them, and what would tell most."""

    playbook: str
    run_id: UUID
    path: list[str]
    gaps: list[str]
    leads_to: str
    answers: list[AnswerRead]
    stands: list[StandRead]
    next: ProposalRead | None
