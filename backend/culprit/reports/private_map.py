"""The private map of pseudonyms of a frozen report, {kind: {original: pseudonym}}, sealed under the version's id."""

from __future__ import annotations

import json
from collections.abc import Mapping

from culprit.auth import sealed
from culprit.infra.secrets import SecretUnreadable, Vault
from culprit.kit.errors import Conflict
from culprit.models import ReportVersion

Names = dict[str, dict[str, str]]


def seal(row: ReportVersion, names: Mapping[str, Mapping[str, str]], box: Vault) -> None:
    """Put the map into the row, sealed. The row must have its id."""
    sealed.seal(row, json.dumps(names), box)


def opened(row: ReportVersion, box: Vault) -> Names:
    """The map of a version. Raises Conflict where no key of this server opens it."""
    try:
        names: Names = json.loads(sealed.opened(row, box) or "{}")
    except SecretUnreadable:
        raise Conflict("report.names_unreadable", version=row.number) from None
    return names
