"""Run a step: create the capture that answers it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.contract import Tier
from collectors.plans import PLANS
from collectors.registry import COLLECTORS
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import is_allowed
from culprit.captures import service as captures
from culprit.captures.schemas import CaptureCreate
from culprit.domain.rules.registry import RULES
from culprit.incidents.chain import queries as chain_queries
from culprit.incidents.chain import step_options
from culprit.incidents.chain.verdicts import get_step_subject, list_step_rules
from culprit.incidents.records import journal, queries
from culprit.incidents.records.requests import StepRunRequest
from culprit.incidents.records.snapshot import STEP_TIERS
from culprit.incidents.responses.step_collectors import get_collector_seconds, select_collectors
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.incident_run import IncidentRun
from culprit.web.errors import InvalidRequestError

PLAN = "triage"


def run_step(
    session: Session, actor: Actor, store: ArtifactStore, incident_id: UUID, step_run_request: StepRunRequest
) -> tuple[Incident, UUID]:
    """Start the capture of a step. Raises InvalidRequestError for a step that a person answers."""
    incident = journal.lock_version(session, actor, incident_id, step_run_request.version)
    capture = create_step_capture(session, actor, store, incident, step_run_request)
    return incident, capture.id


def create_step_capture(
    session: Session,
    actor: Actor,
    store: ArtifactStore,
    incident: Incident,
    step_run_request: StepRunRequest,
    *,
    source: str | None = None,
    tiers: Sequence[Tier] = STEP_TIERS,
    also: Sequence[str] = (),
) -> Capture:
    """Create the capture of a step and link it. The incident must be locked.

    It also collects the data of the steps `also`, if this needs no higher tier, no option and no other target.
    """
    _, rule = get_step_subject(session, incident, step_run_request.step)
    if rule not in RULES:
        raise InvalidRequestError("incident.step_for_a_person", step=step_run_request.step)
    results = {host.id: (link, host) for link, host in queries.list_hosts(session, actor, incident.id)}
    if step_run_request.host_id not in results:
        raise InvalidRequestError("incident.no_host")
    link, host = results[step_run_request.host_id]
    may = [tier for tier in tiers if is_allowed(actor, f"capture.{tier}")]
    names = select_collectors(RULES[rule], _tried(session, incident, host), may)
    if not names:
        raise InvalidRequestError("incident.step_for_a_person", step=step_run_request.step)
    top = max((COLLECTORS[name].tier for name in names), key=list(Tier).index)
    within = [tier for tier in may if list(Tier).index(tier) <= list(Tier).index(top)]
    names = list(dict.fromkeys([*names, *_list_bundled(session, incident, host, also, within)]))
    if step_run_request.full_triage:
        names = list(dict.fromkeys([*names, *(collector.id for collector in PLANS[PLAN].collectors)]))
    seconds = step_run_request.seconds or max(get_collector_seconds(name) for name in names)
    hints = step_options.collect_option_sources(
        session, incident, link, host, list_step_rules(session, incident, step_run_request.step)
    )
    options, filled = step_options.fill_options(step_run_request.step, names, step_run_request.options, hints)
    scope, chosen = step_options.fill_scope(link, names, hints)
    capture = captures.create_capture(
        session,
        actor,
        store,
        CaptureCreate(
            host_ids=[host.id],
            plan=PLAN,
            seconds=seconds,
            collectors=names,
            scope=scope,
            options=options,
            reason=f"incident #{incident.number}, {step_run_request.step}",
            confirm=step_run_request.confirm,
        ),
        source=source or ("api" if actor.token_id else "manual"),
    )
    capture.incident_id = incident.id
    session.flush()
    for run_id in chain_queries.list_run_ids(session, capture.id):
        session.add(
            IncidentRun(incident_id=incident.id, run_id=run_id, role="evidence", step=step_run_request.step)
        )
    journal.append_entry(
        session,
        incident,
        actor,
        "step_started",
        step=step_run_request.step,
        host=host.name,
        host_id=str(host.id),
        collectors=", ".join(collector["id"] for collector in capture.collectors),
        capture=capture.number,
    )
    for item in (*filled, *([chosen] if chosen else [])):
        _record_option(session, incident, actor, item, (step_run_request.step, host.name))
    return capture


def _record_option(
    session: Session,
    incident: Incident,
    actor: Actor,
    option_value: step_options.OptionValue,
    at: tuple[str, str],
) -> None:
    """Enter an automatically filled option and its source in the journal. `at`: the step and the name of the host."""
    step, host = at
    value, source = option_value.value, option_value.hint.by
    if option_value.option:
        kind, name, option = (
            f"option_from_{option_value.hint.origin}",
            option_value.collector,
            option_value.option,
        )
        journal.append_entry(
            session, incident, actor, kind,
            step=step, host=host, collector=name, option=option, value=value, source=source,
        )  # fmt: skip
    else:
        what = option_value.hint.what
        journal.append_entry(
            session,
            incident,
            actor,
            "scope_changed",
            step=step,
            host=host,
            scope=what,
            value=value,
            source=source,
        )


def _list_bundled(
    session: Session, incident: Incident, host: Host, keys: Sequence[str], tiers: Sequence[Tier]
) -> Iterator[str]:
    """Yield the collectors of other steps that one capture within these tiers can run without further input."""
    if not keys:
        return
    tried = _tried(session, incident, host)
    for key in keys:
        _, rule = get_step_subject(session, incident, key)
        if rule not in RULES:
            continue
        for name in select_collectors(RULES[rule], tried, tiers):
            if name not in tried and COLLECTORS[name].tier in tiers and not step_options.needs_input(name):
                yield name


def _tried(session: Session, incident: Incident, host: Host) -> frozenset[str]:
    runs = [
        run.run_id
        for run in queries.list_runs(session, incident.id)
        if run.host_id == host.id and run.role == "evidence"
    ]
    return (
        frozenset(
            tried_collector.collector for tried_collector in queries.list_tried_collectors(session, runs)
        )
        if runs
        else frozenset()
    )
