"""Many hosts at once: a list is read, every host of it gets a verdict, and the good ones are added."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError
from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.auth.actor import Actor
from culprit.auth.policy import in_scope, policy
from culprit.hosts import queries
from culprit.hosts.access import MAX_HOPS, rules
from culprit.hosts.inventory import ansible, csv_list, known_hosts, ssh_config
from culprit.hosts.inventory.candidate import Candidate
from culprit.hosts.schemas import (
    Address,
    HostImport,
    HostName,
    ImportAnswer,
    ImportDefaults,
    ImportRow,
    Labels,
    Username,
)
from culprit.hosts.service import parse_public_key
from culprit.infra.addresses import resolve
from culprit.infra.ssh_errors import SshError
from culprit.infra.ssh_keys import PublicKey
from culprit.kit.clock import now
from culprit.kit.errors import CulpritError, Invalid
from culprit.kit.uuid7 import uuid7
from culprit.models import Credential, Host

READERS: Mapping[str, Callable[[str], list[Candidate]]] = {
    "ssh_config": ssh_config.read,
    "ansible": ansible.read,
    "csv": csv_list.read,
    "known_hosts": known_hosts.read,
}
RESOLVE_S = 20.0  # for all names together; a person is waiting
RESOLVERS = 16
FIELDS: Sequence[tuple[str, TypeAdapter[Any]]] = (
    ("name", TypeAdapter(HostName)),
    ("address", TypeAdapter(Address)),
    ("username", TypeAdapter(Username)),
    ("labels", TypeAdapter(Labels)),
)
Verdict = Literal["ok", "exists", "refused", "incomplete"]


@dataclass(slots=True)
class Judged:
    """A candidate with what the defaults add, and its verdict."""

    row: ImportRow
    key: PublicKey | None = None
    jump: str | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """What is there already."""

    names: set[str]
    places: set[tuple[str, int]]
    reachable: Mapping[tuple[str, int], str]


def read(session: Session, actor: Actor, body: HostImport) -> ImportAnswer:
    """Verdicts for all hosts of a text; without `dry_run` those with `ok` are enrolled."""
    policy(actor, "host.enrol")
    defaults = body.defaults
    if defaults.sudo == "password":
        raise Invalid("import.sudo_password")
    if defaults.credential_id is not None and session.get(Credential, defaults.credential_id) is None:
        raise Invalid("credential.not_found")
    if defaults.jump_host_id is not None:
        queries.host(session, actor, defaults.jump_host_id)
    judged = [_complete(one, defaults) for one in READERS[body.format](body.text)]
    known = Known(queries.active_names(session), queries.active_places(session), _resolve(session, judged))
    for one in judged:
        _judge(one, known, actor)
    jumps = _judge_jumps(session, actor, judged)
    added = 0
    if not body.dry_run:
        added = _add(session, actor, judged, defaults, jumps)
    return ImportAnswer(rows=[one.row for one in judged], added=added)


def _complete(candidate: Candidate, defaults: ImportDefaults) -> Judged:
    """A candidate as a row; its verdict stays `ok` where nothing in the text itself speaks against it."""
    row = ImportRow(
        line=candidate.line,
        name=candidate.name[:253],
        address=candidate.address[:253],
        port=candidate.port or defaults.port or 22,
        username=(candidate.username or defaults.username or "")[:64],
        labels={**defaults.labels, **candidate.labels},
        fingerprint=candidate.fingerprint,
        verdict="ok",
        reason=None,
    )
    judged = Judged(row, jump=candidate.jump)
    if candidate.problem is not None:
        _say(judged, "incomplete" if candidate.incomplete else "refused", candidate.problem)
        return judged
    if not row.username:
        _say(judged, "incomplete", "import.no_username")
    elif defaults.credential_id is None:
        _say(judged, "incomplete", "import.no_credential")
    for field, adapter in FIELDS:
        value = getattr(row, field)
        if field == "username" and not value:
            continue
        try:
            adapter.validate_python(value)
        except ValidationError:
            _say(judged, "refused", "import.field_refused", field=field)
    if candidate.host_key is not None:
        try:
            judged.key = parse_public_key(candidate.host_key)
            row.fingerprint = judged.key.fingerprint
        except (CulpritError, ValueError):
            _say(judged, "refused", "import.key_unreadable")
    return judged


def _resolve(session: Session, judged: Sequence[Judged]) -> dict[tuple[str, int], str]:
    """For each address and port: "" where it may be dialled, else the key of the reason."""
    allowed = rules(session)
    places = {(one.row.address, one.row.port) for one in judged if one.row.verdict != "refused"}

    def ask(place: tuple[str, int]) -> str:
        try:
            resolve(*place, allowed)
        except SshError as error:
            return f"ssh.{error.kind}"
        return ""

    pool = ThreadPoolExecutor(RESOLVERS, thread_name_prefix="resolve")
    asked = {pool.submit(ask, place): place for place in places}
    done, _ = wait(asked, timeout=RESOLVE_S)
    pool.shutdown(wait=False, cancel_futures=True)
    return {asked[future]: future.result() for future in done}


def _judge(one: Judged, known: Known, actor: Actor) -> None:
    row = one.row
    if row.verdict == "refused":
        return
    place = (row.address, row.port)
    reason = known.reachable.get(place, "ssh.dns")
    if row.name in known.names:
        _say(one, "exists", "host.name_taken", name=row.name)
    elif place in known.places:
        _say(one, "exists", "import.same_place", address=row.address, port=row.port)
    elif reason:
        _say(one, "refused", reason, address=row.address, port=row.port)
    elif not in_scope(actor, row.labels):
        _say(one, "refused", "host.outside_scope")
    else:
        if row.verdict == "ok" and one.key is None:
            row.reason = {"key": "import.key_to_confirm", "params": {}}
        known.names.add(row.name)
        known.places.add(place)


def _judge_jumps(session: Session, actor: Actor, judged: Sequence[Judged]) -> dict[str, Host]:
    """The active hosts that the list jumps over, by name.

    A host whose jump host is neither there nor added with it is not added: it would be dialled directly.
    """
    wanted = {one.row.name: one.jump for one in judged if one.jump}
    there = queries.active_by_name(session, actor, set(wanted.values()))
    for one in judged:
        at: str | None = one.jump
        for _ in range(MAX_HOPS):
            at = wanted.get(at) if at else None
        if at is not None and one.row.verdict == "ok":
            _say(one, "refused", "host.jump_circle", host=one.row.name)
    for _ in range(MAX_HOPS):
        good = {one.row.name for one in judged if one.row.verdict == "ok"}
        for one in judged:
            if one.row.verdict == "ok" and one.jump and one.jump not in good and one.jump not in there:
                _say(one, "incomplete", "import.jump_unknown", jump=one.jump[:100])
    return there


def _add(
    session: Session,
    actor: Actor,
    judged: Sequence[Judged],
    defaults: ImportDefaults,
    there: Mapping[str, Host],
) -> int:
    """Enrol those with `ok`."""
    made: dict[str, Host] = {}
    good = [one for one in judged if one.row.verdict == "ok"]
    for one in good:
        host = _host(actor, one, defaults)
        session.add(host)
        made[host.name] = host
        one.row.verdict = "added"
    session.flush()
    for one in good:
        if one.jump is not None:
            made[one.row.name].jump_host_id = (made.get(one.jump) or there[one.jump]).id
    session.flush()
    for host in made.values():
        audit.record(
            session, actor, "host.enrolled", "host", host.id, name=host.name, address=host.address,
            port=host.port, fingerprint=host.host_key_fingerprint, how="import",
        )  # fmt: skip
    return len(made)


def _host(actor: Actor, one: Judged, defaults: ImportDefaults) -> Host:
    row = one.row
    host = Host(
        id=uuid7(),
        name=row.name,
        address=row.address,
        port=row.port,
        username=row.username,
        credential_id=defaults.credential_id,
        sudo=defaults.sudo,
        labels=row.labels,
        jump_host_id=defaults.jump_host_id,
        created_by=actor.id,
    )
    if one.key is not None:
        host.host_key_type, host.host_key = one.key.type, one.key.blob
        host.host_key_fingerprint = one.key.fingerprint
        host.pinned_at, host.pinned_by = now(), actor.id
    return host


def _say(one: Judged, verdict: Verdict, key: str, **params: str | int) -> None:
    one.row.verdict = verdict
    one.row.reason = {"key": key, "params": params}
