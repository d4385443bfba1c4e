"""The private map of pseudonyms of a frozen report, {kind: {original: pseudonym}}, sealed under the version's id."""

from __future__ import annotations

import json
from collections.abc import Mapping

from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.infra.secrets import Sealed, SecretUnreadable, Vault
from culprit.kit.errors import Conflict
from culprit.models import ReportVersion

Names = dict[str, dict[str, str]]


def seal(row: ReportVersion, names: Mapping[str, Mapping[str, str]], box: Vault) -> None:
    """Put the map into the row, sealed. The row must have its id."""
    sealed = box.seal(row.id, json.dumps(names).encode())
    row.ciphertext, row.nonce = sealed.ciphertext, sealed.nonce
    row.wrapped_key, row.key_version = sealed.wrapped_key, sealed.key_version


def opened(row: ReportVersion, box: Vault) -> Names:
    """The map of a version. Raises Conflict where no key of this server opens it."""
    try:
        names: Names = json.loads(box.open(row.id, _sealed(row)))
    except SecretUnreadable:
        raise Conflict("report.names_unreadable", version=row.number) from None
    return names


def rewrap_all(session: Session, box: Vault) -> int:
    """Bring every map under the current key-encryption key; returns how many had another."""
    query = select(ReportVersion).where(ReportVersion.key_version != box.current)
    rows = session.scalars(query.with_for_update()).all()
    for row in rows:
        sealed = box.rewrap(row.id, _sealed(row))
        row.wrapped_key, row.key_version = sealed.wrapped_key, sealed.key_version
    if rows:
        audit.record(session, None, "report.rewrapped", "report", "all", count=len(rows), key=box.current)
    return len(rows)


def _sealed(row: ReportVersion) -> Sealed:
    return Sealed(row.ciphertext, row.nonce, row.wrapped_key, row.key_version)
