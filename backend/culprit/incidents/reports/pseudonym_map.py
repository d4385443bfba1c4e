"""Private map of pseudonyms of a frozen report, {kind: {original: pseudonym}}, sealed under the id of the version."""

from __future__ import annotations

import json
from collections.abc import Mapping

from culprit.accounts import sealed_columns
from culprit.infra.models.reports.report_version import ReportVersion
from culprit.infra.vault import SecretUnreadableError, Vault
from culprit.web.errors import ConflictError

Names = dict[str, dict[str, str]]


def seal_names(row: ReportVersion, names: Mapping[str, Mapping[str, str]], box: Vault) -> None:
    """Seal the map and store it in the row. The row must have its id."""
    sealed_columns.seal_secret(row, json.dumps(names), box)


def open_names(row: ReportVersion, box: Vault) -> Names:
    """Return the map of a version. Raises ConflictError if no key of this server opens it."""
    try:
        names: Names = json.loads(sealed_columns.open_secret(row, box) or "{}")
    except SecretUnreadableError:
        raise ConflictError("report.names_unreadable", version=row.number) from None
    return names
