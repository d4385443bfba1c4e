"""Validate a document: unique IDs, known references, and evidence for verdicts.

A bundle is untrusted. Its verdicts are accepted only with their evidence in the bundle, or with the reason why it was
left out. Rules are evaluated again here in any case.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from uuid import UUID

from pydantic import ValidationError

from collectors.clock.mapping import ClockMap
from collectors.contract import Sentence
from collectors.profiles.limits import ImportRefusedError
from culprit.analysis.playbooks.library import list_known_ids
from culprit.domain.playbooks import check, refusals
from culprit.domain.playbooks.model import GATES, Playbook
from culprit.incidents.records import playbook_versions
from culprit.incidents.transfer.bundle.chain import PlaybookForm
from culprit.incidents.transfer.bundle.document import BundleDocument

#: Problems that make a playbook unusable. Unknown rules and causes are no such problem.
_FATAL_PROBLEMS = frozenset(
    f"playbook.{item}"
    for item in (
        "bad_id", "twice", "finding_or_look", "no_hypothesis", "no_otherwise", "no_step", "no_way", "no_way_out",
        "not_reached",
    )
)  # fmt: skip
SETTLED_VERDICTS = frozenset({"supports", "refutes"})


def build_refusal(key: str, **params: str | int) -> ImportRefusedError:
    """Build a refusal with the message `transfer.<key>`."""
    return ImportRefusedError(Sentence(f"transfer.{key}", params))


def check_document(document: BundleDocument, held: Collection[str]) -> None:
    """Raise ImportRefusedError with the first problem. `held`: the digests of the artifacts in the bundle."""
    _check_unique(document)
    _check_references(document)
    _check_artifacts(document, held)
    steps = _check_steps(document)
    _check_clocks(document)
    _check_verdicts(document, steps)
    _check_answers(document, steps)
    _check_verifications(document)


def _check_unique(document: BundleDocument) -> None:
    groups: dict[str, Iterable[object]] = {
        "playbook": (playbook.id for playbook in document.playbooks),
        "hypothesis": (hypothesis.key for hypothesis in document.hypotheses),
        "waiver": (waiver.step for waiver in document.waivers),
        "step": (f"{step.step} {step.host}" for step in document.steps),
        "collector": (f"{collector.collector} {collector.run}" for collector in document.collectors),
        "id": (
            item.id
            for many in (
                document.hosts, document.hypotheses, document.verdicts, document.pins, document.fixes,
                document.verifications, document.captures, document.runs, document.collectors, document.artifacts,
                document.profiles, document.comparisons, (document.incident,),
            )
            for item in many
        ),
    }  # fmt: skip
    for what, result in groups.items():
        seen: set[object] = set()
        for item in result:
            if item in seen:
                raise build_refusal("twice", what=what, id=str(item)[:200])
            seen.add(item)


def _iter_references(document: BundleDocument) -> Iterator[tuple[str, UUID | None, Collection[UUID]]]:
    """Yield (kind of the referring object, referenced ID, allowed IDs)."""
    hosts, runs = {host.id for host in document.hosts}, {run.id for run in document.runs}
    captures, pins = {capture.id for capture in document.captures}, {pin.id for pin in document.pins}
    collectors, fixes = (
        {collector.id for collector in document.collectors},
        {fix.id for fix in document.fixes},
    )
    hypotheses = {hypothesis.id for hypothesis in document.hypotheses}
    for step in document.steps:
        yield from (("step", step.host, hosts), ("step", step.run, runs))
    for verdict in document.verdicts:
        yield "verdict", verdict.host, hosts
        yield from (("verdict", pin, pins) for pin in verdict.pins)
    for pin in document.pins:
        yield from (("pin", run, runs) for run in pin.runs)
    for outcome in document.outcomes:
        yield from (("outcome", pin, pins) for pin in outcome.pins)
    for fix in document.fixes:
        yield "fix", fix.hypothesis, hypotheses
        yield from (("fix", host, hosts) for host in fix.hosts)
    for verification in document.verifications:
        yield from (("verification", verification.fix, fixes), ("verification", verification.control, hosts))
        yield from (("verification", item, runs) for item in verification.before)
        yield from (
            ("verification", item, captures) for item in (*verification.captures_before, *verification.after)
        )
    for run in document.runs:
        yield from (("run", run.capture, captures), ("run", run.host, hosts), ("run", run.fix, fixes))
    for collector in document.collectors:
        yield "collector", collector.run, runs
    for artifact in document.artifacts:
        yield from (("artifact", artifact.run, runs), ("artifact", artifact.collector, collectors))
    for profile in document.profiles:
        yield from (("profile", profile.run, runs), ("profile", profile.collector, collectors))
    profiles = {profile.id for profile in document.profiles}
    for comparison in document.comparisons:
        yield from (
            ("comparison", profile, profiles)
            for profile in (*comparison.before.profiles, *comparison.after.profiles)
        )


def _check_references(document: BundleDocument) -> None:
    for what, item, known_ids in _iter_references(document):
        if item is not None and item not in known_ids:
            raise build_refusal("dangling", what=what, id=str(item))
    runs_of = {collector.id: collector.run for collector in document.collectors}
    parts = [
        *((artifact.collector, artifact.run) for artifact in document.artifacts),
        *((profile.collector, profile.run) for profile in document.profiles),
    ]
    for collector, run in parts:
        if collector is not None and runs_of[collector] != run:
            raise build_refusal("dangling", what="artifact", id=str(collector))


def _check_artifacts(document: BundleDocument, held: Collection[str]) -> None:
    named = {artifact.sha256 for artifact in document.artifacts if artifact.left_out is None}
    for item in sorted(named.difference(held)):
        raise build_refusal("dangling", what="artifact", id=item)
    for item in sorted(set(held).difference(named)):
        raise build_refusal("unused", id=item)


def _parse_playbook(playbook_form: PlaybookForm) -> Playbook:
    if playbook_versions.compute_digest(playbook_form.content) != playbook_form.digest:
        raise build_refusal("playbook", id=playbook_form.id, why="digest")
    try:
        playbook = playbook_versions.get_attached_version(playbook_form.content, playbook_form.digest)
    except (ValidationError, RecursionError):
        raise build_refusal("playbook", id=playbook_form.id, why="form") from None
    if playbook.id != playbook_form.id:
        raise build_refusal("playbook", id=playbook_form.id, why="id")
    for problem in check.find_problems(playbook, list_known_ids()):
        if problem.what.key in _FATAL_PROBLEMS:
            raise build_refusal("playbook", id=playbook_form.id, why=problem.location[:200])
    return playbook


def _check_steps(document: BundleDocument) -> dict[str, str]:
    """Return the rules of all steps by key. Raise if the document names an unknown step or hypothesis."""
    steps: dict[str, str] = {}
    hypotheses: set[str] = set()
    for playbook in map(_parse_playbook, document.playbooks):
        steps.update({f"{playbook.id}/{step.id}": step.finding for step in playbook.steps})
        hypotheses.update(f"{playbook.id}/{hypothesis.id}" for hypothesis in playbook.hypotheses)
    own = [
        hypothesis.key
        for hypothesis in document.hypotheses
        if hypothesis.key.startswith(f"{playbook_versions.CUSTOM_PLAYBOOK_ID}/")
    ]
    steps.update(dict.fromkeys(own, ""))
    hypotheses.update(own)
    named: tuple[tuple[str, list[str], Collection[str]], ...] = (
        ("step", [step.step for step in document.steps], steps),
        ("step", [verdict.step for verdict in document.verdicts], steps),
        ("step", [waiver.step for waiver in document.waivers], steps),
        ("verdict", [verdict.about for verdict in document.verdicts], {*hypotheses, *GATES}),
        ("hypothesis", [hypothesis.key for hypothesis in document.hypotheses], hypotheses),
    )
    for what, keys, known_keys in named:
        for key in keys:
            if key not in known_keys:
                raise build_refusal("dangling", what=what, id=key)
    return steps


def _check_clocks(document: BundleDocument) -> None:
    for run in document.runs:
        try:
            ClockMap.from_json(run.clock)
        except Exception:  # noqa: BLE001 - any error means an unusable clock
            raise build_refusal("field", where=f"runs {run.id} clock") from None


def _check_verdicts(document: BundleDocument, steps: Collection[str]) -> None:
    """Require pins for verdicts of users, as in an incident, that cite a run in the bundle."""
    pins = {pin.id: pin for pin in document.pins}
    for verdict in document.verdicts:
        cited_pins = [pins[pin] for pin in verdict.pins if pins[pin].runs]
        cited = [refusals.CitedPin(str(pin.id), bool(pin.snapshot.get("collected"))) for pin in cited_pins]
        if refusals.check_verdict(verdict.verdict, cited) is not None:
            raise build_refusal("no_evidence", step=verdict.step)


def _check_answers(document: BundleDocument, steps: dict[str, str]) -> None:
    """Require for each verdict of a rule a run with artifacts and a result of that rule."""
    with_bytes = {artifact.run for artifact in document.artifacts}
    reported = {run.id: {item.rule: item.state for item in run.rule_verdicts or ()} for run in document.runs}
    people = {(verdict.step, verdict.host) for verdict in document.verdicts} | {
        (verdict.step, None) for verdict in document.verdicts if verdict.host is None
    }
    for step in document.steps:
        by_person = (step.step, step.host) in people or (step.step, None) in people
        if (step.by == "person") != by_person:
            raise build_refusal("no_evidence", step=step.step)
        if step.rule not in SETTLED_VERDICTS:
            continue
        message = reported[step.run].get(steps[step.step]) if step.run is not None else None
        if step.run not in with_bytes or message not in {"matched", "not_matched"}:
            raise build_refusal("no_evidence", step=step.step)


def _check_verifications(document: BundleDocument) -> None:
    for verification in document.verifications:
        if verification.state == "done" and not (
            verification.result
            and verification.after
            and (verification.before or verification.captures_before)
        ):
            raise build_refusal("no_evidence", step=f"verification {verification.id}")
    judged = {verification.fix for verification in document.verifications if verification.state == "done"}
    for fix in document.fixes:
        if fix.state in {"verified", "no_effect", "worse"} and fix.id not in judged:
            raise build_refusal("no_evidence", step=f"fix {fix.id}")
