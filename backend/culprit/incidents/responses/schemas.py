"""What goes out about incidents."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel

from culprit.core.playbooks.play import Play
from culprit.incidents.given import Role, RunRole, State, Symptom
from culprit.incidents.schemas_chain import (
    CauseRead,
    HypothesisRead,
    NextRead,
    PersonRef,
    PrimaryRead,
    StepRead,
    TextRead,
    WaivedRead,
)

Json = dict[str, Any]
Sentence = dict[str, Any]
PinState = Literal["intact", "altered", "gone"]
FixState = Literal["planned", "applied", "verified", "no_effect", "worse", "no_conclusion", "reverted"]


class PersonHere(PersonRef):
    """Somebody who takes part; `here`: has it open now."""

    here: bool


class WindowRead(BaseModel):
    """From when to when; null: it goes on."""

    from_: datetime
    to: datetime | None

    model_config = {"populate_by_name": True, "alias_generator": lambda name: name.rstrip("_")}


class HostRead(BaseModel):
    """A host of the incident. One that is not `enrolled` cannot be captured."""

    id: UUID
    name: str
    scope: Json
    role: Role
    enrolled: bool


class PlaybookRef(BaseModel):
    """A playbook as it is used here; `current`: the catalogue still has it so.

    `play`: whether what it asks holds up the end; `refuted` where none of its hypotheses is left, `aside` where
    somebody set it aside with a reason (which counts for nothing while a likely or confirmed cause comes from it).
    """

    id: str
    digest: str
    title: TextRead
    current: bool
    play: Play
    aside: WaivedRead | None


class VerificationRead(BaseModel):
    """One comparison of before with after: runs before, captures that were made for it before and after the fix."""

    id: UUID
    kind: Literal["plain", "control", "cohort"]
    primary: PrimaryRead | None
    bar: float | None
    before: list[UUID]
    made_before: list[UUID]
    after: list[UUID]
    control_host_id: UUID | None
    state: Literal["before", "waiting", "collecting", "judging", "done", "failed", "cancelled"]
    result: Json | None
    failure: Sentence | None
    requested_by: PersonRef | None
    created_at: datetime
    ended_at: datetime | None


class FixRead(BaseModel):
    """Something that was changed or is to be."""

    id: UUID
    hypothesis_id: UUID | None
    card: str
    what: str
    hosts: list[UUID]
    command: str
    risk: str
    way_back: str
    applied_at: datetime | None
    state: FixState
    by: PersonRef | None
    created_at: datetime
    verifications: list[VerificationRead]


class PinRead(BaseModel):
    """Evidence, and what it showed when it was pinned."""

    id: UUID
    kind: Literal["range", "frame", "row", "line", "comparison"]
    ref: Json
    view: str
    said: Json
    artifact: str | None
    step: str | None
    by: PersonRef | None
    created_at: datetime


class PinChecked(PinRead):
    """A pin, and whether the bytes behind it are still those. None where it rests on no single artifact."""

    state: PinState | None


class RunRead(BaseModel):
    """A run of the incident. `from`/`to` are when it was measured."""

    run_id: UUID
    capture_id: UUID
    number: int
    host_id: UUID | None
    role: RunRole
    step: str | None
    fix_id: UUID | None
    plan: str
    from_: datetime | None
    to: datetime | None
    state: str

    model_config = {"populate_by_name": True, "alias_generator": lambda name: name.removesuffix("_")}


class WrongRead(BaseModel):
    """A cause that was named here and was not it: what it was instead, how one knows, and the pins that show it."""

    cause: str
    true_cause: str | None
    note: str
    pins: list[UUID]
    by: PersonRef | None


class MayRead(BaseModel):
    """What this person may do here, for the buttons."""

    edit: bool
    comment: bool
    resolve: bool
    capture: bool
    tiers: list[str]
    mute: bool
    autopilot: bool
    bundle: bool


class AutopilotRead(BaseModel):
    """How far it is by itself: `taken` captures, the last one for `step`, and why it stopped."""

    state: Literal["running", "stopped"]
    tier: str
    taken: int
    by: PersonRef | None
    capture_id: UUID | None
    step: str | None
    reason: Sentence | None


class ComparedRead(BaseModel):
    """How many verdicts of a kind are here what they were there."""

    equal: int
    total: int


class DifferenceRead(BaseModel):
    """A verdict that is another one here; null: nobody said one. `why` is the likeliest reason.

    `on` is a run for a rule, a host for a step.
    """

    kind: Literal["rule", "step", "hypothesis"]
    about: str
    on: str
    there: str | None
    here: str | None
    why: Literal["left_out", "muted", "rules", "unknown"]


class ComparisonRead(BaseModel):
    """What rules, steps and hypotheses said there, beside what they say here; `different` has at most 200."""

    rule: ComparedRead
    step: ComparedRead
    hypothesis: ComparedRead
    different: list[DifferenceRead]
    unequal: int


class OriginRead(BaseModel):
    """Where an imported incident is from. `compared` is null until its runs were read and its rules asked here.

    `said_by` has the names of people of there, who are no accounts here, by the id of what they said (a waiver by its
    step, a playbook that was set aside by `playbook <id>`).
    """

    culprit: str
    number: int
    redacted: bool
    written_at: datetime
    imported_at: datetime
    imported_by: PersonRef | None
    compared: ComparisonRead | None
    said_by: dict[str, str]


class IncidentRead(BaseModel):
    """All of an incident, as it stands. `made` is the id of what a write has just made.

    `gaps` are the steps on the walked paths of playbooks in play that nothing settled and nobody waived.
    `again`: a fix was verified, is the symptom still there?
    """

    id: UUID
    number: int
    title: str
    state: State
    severity: int
    version: int
    created_by: PersonRef | None
    created_at: datetime
    updated_at: datetime
    resolved_at: datetime | None
    symptom: Symptom
    window: WindowRead
    hosts: list[HostRead]
    people: list[PersonHere]
    playbooks: list[PlaybookRef]
    hypotheses: list[HypothesisRead]
    steps: list[StepRead]
    gaps: list[str]
    leads_to: list[str]
    next: NextRead | None
    causes: list[CauseRead]
    wrong: list[WrongRead]
    fixes: list[FixRead]
    pins: list[PinRead]
    runs: list[RunRead]
    may: MayRead
    autopilot: AutopilotRead | None
    again: bool
    origin: OriginRead | None = None
    made: UUID | None = None


class IncidentSummary(BaseModel):
    """An incident in a list."""

    id: UUID
    number: int
    title: str
    state: State
    severity: int
    version: int
    symptom: Symptom
    window: WindowRead
    hosts: list[str]
    people: int
    causes: list[CauseRead]
    fixes: list[FixState]
    created_at: datetime
    updated_at: datetime
    resolved_at: datetime | None


class JournalRead(BaseModel):
    """One change. `kind` is the key of its sentence (`journal.*`); `by` null: Culprit itself."""

    id: UUID
    version: int
    kind: str
    params: Json
    note: str
    by: PersonRef | None
    at: datetime


class MuteRead(BaseModel):
    """A muted rule on a host."""

    id: UUID
    host_id: UUID
    host: str
    rule: str
    reason: str
    expires_at: datetime
    by: PersonRef | None
    created_at: datetime
    active: bool


class OutcomeRead(BaseModel):
    """How often a cause was named and was it, and how often it was not; `instead` counts what it was then."""

    cause: str
    right: int
    wrong: int
    instead: dict[str, int]
