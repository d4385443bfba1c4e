"""Import many hosts: parse a list, validate every host, and add the valid ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError
from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize, is_in_scope
from culprit.accounts.queries.restrictions import load_network_rules
from culprit.hosts import queries
from culprit.hosts.access import MAX_HOPS
from culprit.hosts.inventory import ansible, csv_list, known_hosts, ssh_config
from culprit.hosts.inventory.candidate import Candidate
from culprit.hosts.schemas import (
    Address,
    HostImportDefaults,
    HostImportRequest,
    HostImportResponse,
    HostImportRow,
    HostName,
    Labels,
    Username,
)
from culprit.hosts.service import parse_public_key
from culprit.infra.db.clock import utc_now
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.hosts.credential import Credential
from culprit.infra.models.hosts.host import Host
from culprit.infra.network.addresses import resolve_address
from culprit.infra.ssh.errors import SshError
from culprit.infra.ssh.keys import PublicKey
from culprit.web.errors import CulpritError, InvalidRequestError

READERS: Mapping[str, Callable[[str], list[Candidate]]] = {
    "ssh_config": ssh_config.parse_hosts,
    "ansible": ansible.parse_hosts,
    "csv": csv_list.parse_hosts,
    "known_hosts": known_hosts.parse_hosts,
}
RESOLVE_TIMEOUT_S = 20.0  # for all names together; a user is waiting
RESOLVER_THREADS = 16
FIELDS: Sequence[tuple[str, TypeAdapter[Any]]] = (
    ("name", TypeAdapter(HostName)),
    ("address", TypeAdapter(Address)),
    ("username", TypeAdapter(Username)),
    ("labels", TypeAdapter(Labels)),
)
ImportVerdict = Literal["ok", "exists", "refused", "incomplete"]


@dataclass(slots=True)
class ImportRowResult:
    """A candidate with defaults applied, and its result."""

    row: HostImportRow
    key: PublicKey | None = None
    jump: str | None = None


@dataclass(frozen=True, slots=True)
class ExistingHosts:
    """Hosts that already exist."""

    names: set[str]
    places: set[tuple[str, int]]
    reachable: Mapping[tuple[str, int], str]


def import_hosts(session: Session, actor: Actor, body: HostImportRequest) -> HostImportResponse:
    """Return a result for each host of a text; without `dry_run`, add those with `ok`."""
    authorize(actor, "host.add")
    defaults = body.defaults
    if defaults.sudo == "password":
        raise InvalidRequestError("import.sudo_password")
    if defaults.credential_id is not None and session.get(Credential, defaults.credential_id) is None:
        raise InvalidRequestError("credential.not_found")
    if defaults.jump_host_id is not None:
        queries.get_host(session, actor, defaults.jump_host_id)
    judged = [_apply_defaults(item, defaults) for item in READERS[body.format](body.text)]
    known = ExistingHosts(
        queries.list_active_names(session),
        queries.list_active_addresses(session),
        _check_addresses(session, judged),
    )
    for item in judged:
        _check_row(item, known, actor)
    jumps = _check_jump_hosts(session, actor, judged)
    added = 0
    if not body.dry_run:
        added = _add_hosts(session, actor, judged, defaults, jumps)
    return HostImportResponse(rows=[item.row for item in judged], added=added)


def _apply_defaults(candidate: Candidate, defaults: HostImportDefaults) -> ImportRowResult:
    """Return a candidate as a row; its result is `ok` unless the text itself is wrong."""
    row = HostImportRow(
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
    judged = ImportRowResult(row, jump=candidate.jump)
    if candidate.problem is not None:
        _set_verdict(judged, "incomplete" if candidate.incomplete else "refused", candidate.problem)
        return judged
    if not row.username:
        _set_verdict(judged, "incomplete", "import.no_username")
    elif defaults.credential_id is None:
        _set_verdict(judged, "incomplete", "import.no_credential")
    for field, adapter in FIELDS:
        value = getattr(row, field)
        if field == "username" and not value:
            continue
        try:
            adapter.validate_python(value)
        except ValidationError:
            _set_verdict(judged, "refused", "import.field_refused", field=field)
    if candidate.host_key is not None:
        try:
            judged.key = parse_public_key(candidate.host_key)
            row.fingerprint = judged.key.fingerprint
        except (CulpritError, ValueError):
            _set_verdict(judged, "refused", "import.key_unreadable")
    return judged


def _check_addresses(session: Session, judged: Sequence[ImportRowResult]) -> dict[tuple[str, int], str]:
    """Return, for each address and port, "" if it is allowed, otherwise the message key."""
    allowed = load_network_rules(session)
    places = {(item.row.address, item.row.port) for item in judged if item.row.verdict != "refused"}

    def check(place: tuple[str, int]) -> str:
        try:
            resolve_address(*place, allowed)
        except SshError as error:
            return f"ssh.{error.kind}"
        return ""

    pool = ThreadPoolExecutor(RESOLVER_THREADS, thread_name_prefix="resolve")
    futures = {pool.submit(check, place): place for place in places}
    done, _ = wait(futures, timeout=RESOLVE_TIMEOUT_S)
    pool.shutdown(wait=False, cancel_futures=True)
    return {futures[future]: future.result() for future in done}


def _check_row(import_row_result: ImportRowResult, known: ExistingHosts, actor: Actor) -> None:
    row = import_row_result.row
    if row.verdict == "refused":
        return
    place = (row.address, row.port)
    reason = known.reachable.get(place, "ssh.dns")
    if row.name in known.names:
        _set_verdict(import_row_result, "exists", "host.name_taken", name=row.name)
    elif place in known.places:
        _set_verdict(import_row_result, "exists", "import.same_place", address=row.address, port=row.port)
    elif reason:
        _set_verdict(import_row_result, "refused", reason, address=row.address, port=row.port)
    elif not is_in_scope(actor, row.labels):
        _set_verdict(import_row_result, "refused", "host.outside_scope")
    else:
        if row.verdict == "ok" and import_row_result.key is None:
            row.reason = {"key": "import.key_to_confirm", "params": {}}
        known.names.add(row.name)
        known.places.add(place)


def _check_jump_hosts(session: Session, actor: Actor, judged: Sequence[ImportRowResult]) -> dict[str, Host]:
    """Return the active jump hosts of the list, by name.

    A host without its jump host is not added, because it would be contacted directly.
    """
    requested = {item.row.name: item.jump for item in judged if item.jump}
    there = queries.map_active_hosts(session, actor, set(requested.values()))
    for item in judged:
        at: str | None = item.jump
        for _ in range(MAX_HOPS):
            at = requested.get(at) if at else None
        if at is not None and item.row.verdict == "ok":
            _set_verdict(item, "refused", "host.jump_circle", host=item.row.name)
    for _ in range(MAX_HOPS):
        valid = {item.row.name for item in judged if item.row.verdict == "ok"}
        for item in judged:
            if item.row.verdict == "ok" and item.jump and item.jump not in valid and item.jump not in there:
                _set_verdict(item, "incomplete", "import.jump_unknown", jump=item.jump[:100])
    return there


def _add_hosts(
    session: Session,
    actor: Actor,
    judged: Sequence[ImportRowResult],
    defaults: HostImportDefaults,
    there: Mapping[str, Host],
) -> int:
    """Add the hosts with `ok`."""
    hosts: dict[str, Host] = {}
    valid = [item for item in judged if item.row.verdict == "ok"]
    for item in valid:
        host = _build_host(actor, item, defaults)
        session.add(host)
        hosts[host.name] = host
        item.row.verdict = "added"
    session.flush()
    for item in valid:
        if item.jump is not None:
            hosts[item.row.name].jump_host_id = (hosts.get(item.jump) or there[item.jump]).id
    session.flush()
    for host in hosts.values():
        audit.record_action(
            session, actor, "host.added", "host", host.id, name=host.name, address=host.address,
            port=host.port, fingerprint=host.host_key_fingerprint, how="import",
        )  # fmt: skip
    return len(hosts)


def _build_host(actor: Actor, import_row_result: ImportRowResult, defaults: HostImportDefaults) -> Host:
    row = import_row_result.row
    host = Host(
        id=new_uuid7(),
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
    if import_row_result.key is not None:
        host.host_key_type, host.host_key = import_row_result.key.type, import_row_result.key.blob
        host.host_key_fingerprint = import_row_result.key.fingerprint
        host.host_key_trusted_at, host.host_key_trusted_by = utc_now(), actor.id
    return host


def _set_verdict(
    import_row_result: ImportRowResult, verdict: ImportVerdict, key: str, **params: str | int
) -> None:
    import_row_result.row.verdict = verdict
    import_row_result.row.reason = {"key": key, "params": params}
