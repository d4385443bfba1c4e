"""The chain of an incident as it is sent."""

from __future__ import annotations

from uuid import UUID

from collectors.contract import Text
from collectors.plans import tier_of
from collectors.registry import COLLECTORS
from culprit.captures.beside import Beside
from culprit.core.playbooks.contract import GATES
from culprit.core.playbooks.merge import HostAnswer, Next
from culprit.core.rules import form
from culprit.core.rules.registry import RULES
from culprit.incidents.collecting import collectors_of, seconds_of
from culprit.incidents.load import Loaded
from culprit.incidents.schemas_chain import (
    CauseRead,
    CommandRead,
    CostRead,
    HostAnswerRead,
    HypothesisRead,
    NextRead,
    PersonRef,
    PersonVerdictRead,
    StepRead,
    TextRead,
    WaivedRead,
)

Names = dict[UUID, str]
CONFIDENCE = ("likely", "confirmed")


def person(user_id: UUID | None, names: Names) -> PersonRef | None:
    """Somebody by name."""
    return PersonRef(id=user_id, name=names[user_id]) if user_id in names and user_id else None


def _text(one: Text) -> TextRead:
    return TextRead(en=one.en, zh=one.zh)


def hypotheses(loaded: Loaded) -> list[HypothesisRead]:
    """Every hypothesis and where it stands."""
    found = []
    for one in loaded.hypotheses:
        stand = loaded.stand(one.key)
        found.append(
            HypothesisRead(
                id=one.id,
                key=one.key,
                says=one.says,
                cause=one.cause,
                state=one.state,
                standing=stand.standing,
                grade=str(stand.grade),
                primary=one.primary,
                supports=list(stand.supports),
                refutes=list(stand.refutes),
            )
        )
    return found


def steps(loaded: Loaded, names: Names) -> list[StepRead]:
    """Every step of every playbook, with the answer of each host."""
    return [
        StepRead(
            key=key,
            playbook=walked.playbook.id,
            step=step.id,
            asks=_text(step.asks),
            look=_text(step.look) if step.look else None,
            about=step.about if step.about in GATES else walked.key(step.about),
            finding=step.finding,
            on_path=step.id in walked.chain.path,
            verdict=walked.chain.answers[step.id].verdict,
            waived=_waived(loaded, key, names),
            hosts=[_answer(loaded, one, names) for one in walked.hosts[step.id]],
        )
        for walked in loaded.walks
        for step in walked.playbook.steps
        for key in [walked.key(step.id)]
    ]


def _waived(loaded: Loaded, key: str, names: Names) -> WaivedRead | None:
    one = loaded.waivers.get(key)
    return WaivedRead(reason=one.reason, by=person(one.by, names)) if one else None


def _answer(loaded: Loaded, one: HostAnswer, names: Names) -> HostAnswerRead:
    spoken = None
    if one.person is not None:
        row = next(each for each in loaded.verdicts if str(each.id) == one.person.id)
        spoken = PersonVerdictRead(
            id=row.id,
            verdict=row.verdict,
            by=person(row.by, names),
            note=row.note,
            at=row.created_at,
            pins=list(loaded.cited.get(row.id, ())),
        )
    return HostAnswerRead(
        host_id=UUID(one.host),
        run_id=UUID(one.run) if one.run else None,
        verdict=one.answer.verdict,
        by=one.answer.by,
        rule_verdict=one.rule.verdict,
        person=spoken,
        grade=str(one.answer.grade),
        reason=form.sentence(one.answer.reason),
        findings=[form.finding(each) for each in one.rule.findings],
        muted=[form.finding(each) for each in one.muted],
        pins=spoken.pins if spoken else [],
        disagrees=one.disagrees,
    )


def following(loaded: Loaded, found: Next | None, beside: Beside | None = None) -> NextRead | None:
    """The step to take next: what will run (`beside` it too, where a capture is made at all), and what it costs."""
    if found is None:
        return None
    step = next(
        walked.playbook.step(found.proposal.step)
        for walked in loaded.walks
        if walked.playbook.id == found.playbook
    )
    names = (
        collectors_of(RULES[step.finding], loaded.tried.get(found.host, ()), loaded.tiers)
        if step.finding
        else []
    )
    whys = (
        {beside.collector: form.sentence(beside.why)}
        if names and beside and beside.collector not in names
        else {}
    )
    names = [*names, *whys]
    seconds = {name: seconds_of(name) for name in names}
    size = sum(COLLECTORS[name].cost.bytes_per_s * seconds[name] for name in names)
    return NextRead(
        step=f"{found.playbook}/{step.id}",
        host_id=UUID(found.host),
        collectors=names,
        tier=str(tier_of(names)),
        cost=CostRead(
            cpu_pct=round(sum(COLLECTORS[name].cost.cpu_pct for name in names), 2),
            seconds=max(seconds.values(), default=0),
            bytes=round(size) or None,
        ),
        commands=[
            CommandRead(
                collector=name,
                text=COLLECTORS[name].ways[0].shows.replace("{seconds}", str(seconds[name])),
                why=whys.get(name),
            )
            for name in names
        ],
        why={"key": found.proposal.why.key, "params": dict(found.proposal.why.params)},
    )


def causes(loaded: Loaded) -> list[CauseRead]:
    """What people decided; the confirmed ones first."""
    found = [one for one in loaded.hypotheses if one.state in CONFIDENCE]
    return [
        CauseRead(hypothesis=one.key, cause=one.cause, confidence=one.state)
        for one in sorted(found, key=lambda one: one.state != "confirmed")
    ]
