"""What comes in about incidents."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from culprit.captures.schemas import OptionValues, ScopeGiven
from culprit.core.playbooks.contract import Better

MAX_HOSTS = 50
MAX_PLAYBOOKS = 20
MAX_PINS = 50
#: More than any playbook has.
MAX_STEPS = 100

Json = dict[str, Any]
Line = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$", max_length=300, strip_whitespace=True)]
Said = Annotated[str, StringConstraints(pattern=r"^[^\x00]+$", max_length=300, strip_whitespace=True)]
Prose = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$", max_length=8000)]
Key = Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]{1,100}/[a-z0-9-]{1,100}$")]
Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]{1,100}$")]
Role = Literal["suspect", "control", "dependency"]
State = Literal["open", "investigating", "identified", "mitigated", "resolved"]
RunRole = Literal["evidence", "before", "after", "control"]


def _of_our_time(at: datetime) -> datetime:
    if not 1970 <= at.year <= 2200:
        raise ValueError("not a time of a host")
    return at


Moment = Annotated[AwareDatetime, AfterValidator(_of_our_time)]


class Given(BaseModel):
    """What means nothing is a mistake."""

    model_config = ConfigDict(extra="forbid")


class Seen(Given):
    """Every change says which version of the incident the person saw."""

    version: Annotated[int, Field(ge=1, le=(1 << 31) - 1)]


class Level(Given):
    """A number of the symptom, before and now. `unit` as people write it: `ms`, `req/s`, `%`."""

    before: Annotated[float | None, Field(allow_inf_nan=False)] = None
    after: Annotated[float | None, Field(allow_inf_nan=False)] = None
    unit: Annotated[str, StringConstraints(pattern=r"^[^\x00]*$", max_length=20)] = ""


class Symptom(Given):
    """What is wrong as users see it: of which service, in words, and in rate, errors and latency where known."""

    service: Line = ""
    says: Prose = ""
    rate: Level | None = None
    errors: Level | None = None
    latency: Level | None = None
    since: Moment | None = None


class HostGiven(Given):
    """A host, what on it, and as what."""

    host_id: UUID
    scope: ScopeGiven = ScopeGiven()
    role: Role = "suspect"


class IncidentCreate(Given):
    """What is going on, where and since when; all but the title may come later.

    `diagnosis_id` or `run_ids` bring their hosts, runs and causes along, and the playbooks that have those causes.
    """

    title: Said
    symptom: Symptom = Symptom()
    severity: Annotated[int, Field(ge=1, le=4)] = 3
    window_from: Moment | None = None
    window_to: Moment | None = None
    hosts: Annotated[list[HostGiven], Field(max_length=MAX_HOSTS)] = []
    playbooks: Annotated[list[Id], Field(max_length=MAX_PLAYBOOKS)] = []
    diagnosis_id: UUID | None = None
    run_ids: Annotated[list[UUID], Field(max_length=MAX_HOSTS)] = []

    @model_validator(mode="after")
    def _in_order(self) -> IncidentCreate:
        _ordered(self.window_from, self.window_to)
        return self


class IncidentPatch(Seen):
    """What changes. `window_to` null: it goes on. `reason` says why an incident goes back to an earlier state."""

    title: Said | None = None
    symptom: Symptom | None = None
    severity: Annotated[int | None, Field(ge=1, le=4)] = None
    state: State | None = None
    reason: Prose = ""
    window_from: Moment | None = None
    window_to: Moment | None = None

    @model_validator(mode="after")
    def _in_order(self) -> IncidentPatch:
        _ordered(self.window_from, self.window_to)
        return self


def _ordered(begin: datetime | None, end: datetime | None) -> None:
    if begin is not None and end is not None and end < begin:
        raise ValueError("the window ends before it begins")


class HostsAdd(Seen):
    """Hosts that belong to it too; of one that is there already, scope and role change."""

    hosts: Annotated[list[HostGiven], Field(min_length=1, max_length=MAX_HOSTS)]


class PlaybooksAdd(Seen):
    """Playbooks to go by, as the catalogue has them now; one that is there already is brought up to date."""

    playbooks: Annotated[list[Id], Field(min_length=1, max_length=MAX_PLAYBOOKS)]


class PlaybookPatch(Seen):
    """A playbook is set aside as a whole, with one reason for all that it still asks; or taken up again."""

    aside: bool
    reason: Prose = ""


class PrimaryGiven(Given):
    """The number by which a fix is judged, and which way it should go."""

    read: Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f]{1,200}$")]
    better: Better


class HypothesisAdd(Seen):
    """An explanation of one's own. `says` in one's own language stands for both."""

    says: Said
    cause: Annotated[str, StringConstraints(pattern=r"^[a-z0-9_.-]{0,100}$")] = ""
    primary: PrimaryGiven | None = None


class HypothesisPatch(Seen):
    """What people decided about it."""

    state: Literal["open", "refuted", "likely", "confirmed"]
    note: Prose = ""


class VerdictAdd(Seen):
    """What a step shows, as somebody sees it, and the pins that show it. Without a host it holds for all of them."""

    step: Key
    host_id: UUID | None = None
    verdict: Literal["supports", "refutes", "inconclusive"]
    pins: Annotated[list[UUID], Field(max_length=MAX_PINS)] = []
    note: Prose = ""


class VerdictWithdraw(Seen):
    """Why one's verdict does not hold any more."""

    note: Prose = ""


class WaiverAdd(Seen):
    """Steps of one playbook that need not be answered, and why."""

    steps: Annotated[list[Key], Field(min_length=1, max_length=MAX_STEPS)]
    reason: Prose


class NoteAdd(Seen):
    """Something to remember."""

    note: Annotated[str, StringConstraints(pattern=r"^[^\x00]+$", max_length=8000, strip_whitespace=True)]


class RunsAdd(Seen):
    """Runs to look at."""

    run_ids: Annotated[list[UUID], Field(min_length=1, max_length=MAX_HOSTS)]
    role: RunRole = "evidence"
    step: Key | None = None


class WrongAdd(Seen):
    """A cause that was named and was not it; what it was instead, where that is known."""

    cause: Annotated[str, StringConstraints(pattern=r"^[a-z0-9_.-]{1,100}$")]
    true_cause: Annotated[str | None, StringConstraints(pattern=r"^[a-z0-9_.-]{1,100}$")] = None
    pins: Annotated[list[UUID], Field(max_length=MAX_PINS)] = []
    note: Prose = ""


class FixAdd(Seen):
    """Something to change: after a card (`playbook/card`), whose texts fill what is not given, or one's own."""

    hypothesis_id: UUID | None = None
    card: Annotated[str, StringConstraints(pattern=r"^([a-z0-9-]{1,100}/[a-z0-9-]{1,100})?$")] = ""
    what: Prose = ""
    host_ids: Annotated[list[UUID], Field(max_length=MAX_HOSTS)] = []
    command: Prose = ""
    risk: Prose = ""
    way_back: Prose = ""


class FixPatch(Seen):
    """It was applied (since when), taken back, or is told better. How it turned out is judged and not said."""

    state: Literal["applied", "reverted"] | None = None
    applied_at: Moment | None = None
    what: Prose | None = None
    command: Prose | None = None
    risk: Prose | None = None
    way_back: Prose | None = None


class VerifyAdd(Seen):
    """How a fix is to be judged. `bar` is the change that counts, as a share of what was before."""

    kind: Literal["plain", "control", "cohort"] = "plain"
    control_host_id: UUID | None = None
    bar: Annotated[float | None, Field(gt=0, le=100)] = None


class StepRun(Seen):
    """Collect what a step needs on a host. `options` as in a capture; `confirm` where the tier asks for it.

    `again`: with all that a triage collects, for after a fix: causes stack, and what was found before it is of then.
    """

    step: Key
    host_id: UUID
    again: bool = False
    seconds: Annotated[int | None, Field(ge=1, le=600)] = None
    options: Annotated[dict[Annotated[str, Field(max_length=40)], OptionValues], Field(max_length=60)] = {}
    confirm: Annotated[str | None, Field(max_length=253)] = None


class AutopilotStart(Seen):
    """Go on by itself, up to this tier."""

    tier: Literal["light", "standard", "deep"] = "standard"


class MuteAdd(Given):
    """A rule that is known to fire on a host, why, and until when it is not counted."""

    host_id: UUID
    rule: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,60}$")]
    reason: Prose
    expires_at: Moment
