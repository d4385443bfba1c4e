"""What goes out about the chain of an incident: hypotheses, steps with their answers, what to do next."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel

from culprit.core.playbooks.contract import Better, Verdict

Json = dict[str, Any]
Sentence = dict[str, Any]
By = Literal["rule", "person", "nobody"]


class TextRead(BaseModel):
    """A text in both languages."""

    en: str
    zh: str


class PrimaryRead(BaseModel):
    """The number by which a fix is judged."""

    read: str
    better: Better


class PersonRef(BaseModel):
    """Somebody by name."""

    id: UUID
    name: str


class HypothesisRead(BaseModel):
    """An explanation: what people decided (`state`), and where the evidence stands. Steps are named by their keys."""

    id: UUID
    key: str
    says: TextRead
    cause: str
    state: Literal["open", "refuted", "likely", "confirmed"]
    standing: Literal["open", "supported", "refuted", "contested"]
    grade: str
    primary: PrimaryRead | None
    supports: list[str]
    refutes: list[str]


class PersonVerdictRead(BaseModel):
    """A verdict that somebody gave."""

    id: UUID
    verdict: Verdict
    by: PersonRef | None
    note: str
    at: datetime
    pins: list[UUID]


class HostAnswerRead(BaseModel):
    """What a step shows on one host.

    `verdict` is what counts, `rule_verdict` what the rule alone says. `disagrees`: a person and the rule, or two
    people, say otherwise. `muted` findings are shown and do not count. `pins` are what the person's verdict cites.
    """

    host_id: UUID
    run_id: UUID | None
    verdict: Verdict
    by: By
    rule_verdict: Verdict
    person: PersonVerdictRead | None
    grade: str
    reason: Sentence | None
    findings: list[Json]
    muted: list[Json]
    pins: list[UUID]
    disagrees: bool


class WaivedRead(BaseModel):
    """Why a step is left unanswered, and who decided so."""

    reason: str
    by: PersonRef | None


class StepRead(BaseModel):
    """One question and what each host answers. `about` is a hypothesis's key or a gate; `verdict` is over all hosts."""

    key: str
    playbook: str
    step: str
    asks: TextRead
    look: TextRead | None
    about: str
    finding: str
    on_path: bool
    verdict: Verdict
    waived: WaivedRead | None
    hosts: list[HostAnswerRead]


class CostRead(BaseModel):
    """What it takes of the host: percent of one core, for how long, and bytes brought home where that is known."""

    cpu_pct: float
    seconds: int
    bytes: int | None


class CommandRead(BaseModel):
    """What will run. `why`: the step does not need it, and it is taken for this."""

    collector: str
    text: str
    why: Sentence | None = None


class NextRead(BaseModel):
    """The step to take next; without collectors it is a person's."""

    step: str
    host_id: UUID
    collectors: list[str]
    tier: str
    cost: CostRead
    commands: list[CommandRead]
    why: Sentence


class CauseRead(BaseModel):
    """A root cause."""

    hypothesis: str
    cause: str
    confidence: Literal["likely", "confirmed"]
