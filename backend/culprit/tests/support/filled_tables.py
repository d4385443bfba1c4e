"""Rows in every table of a database, made from its schema alone, and digests of their columns.

Row `n` of a table refers to row `n` of the tables that its foreign keys name. Checks are met by the values that they
list. A table whose checks need more gets the values of `SPECIAL`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from sqlalchemy import Connection, Engine, inspect, text

ROWS = 3
NAMESPACE = UUID("6f0c3b0e-4a55-4a53-9a52-5f0f4f6c1d11")
_LATER = tuple(f"2026-02-0{row + 1} 00:00:00+00" for row in range(ROWS))
#: Columns whose value depends on other columns: {table: {column: value, or a value for each row}}.
SPECIAL: Mapping[str, Mapping[str, Any]] = {
    "host": {"jump_host_id": None},
    "kill_switch": {
        "kind": ("everywhere", "label", "everywhere"),
        "host_id": None,
        "label_name": (None, "role", None),
        "label_value": (None, "feed", None),
    },
    "maintenance_window": {"ends_at": _LATER, "selector": None},
    "network_rule": {"cidr": ("10.0.0.0/8", "192.0.2.0/24", "2001:db8::/32")},
    "oncall_override": {"ends_at": _LATER},
    "reported_event": {"t_ns": 1, "end_ns": 2},
    "rotation": {"first_day": "2026-01-01"},
    "schedule": {"kind": "cron", "local_time": None, "state": "active"},
    "oidc_provider": {"singleton": True},
    "service": {"ciphertext": None, "key_version": None},
    "trigger": {"proof": "token", "ciphertext": None, "key_version": None},
    "watcher": {"kind": "lookback", "capture_spec": None, "state": "waiting", "ended_at": None},
}
#: Tables with a single row.
SINGLE = frozenset({"oidc_provider"})
_LITERAL = re.compile(r"'((?:[^']|'')*)'::(?:text|character varying)")
_BYTES = b"\x00culprit"


def fill_tables(engine: Engine, *, only: set[str] | None = None) -> dict[str, int]:
    """Insert rows into all tables, or into those of `only`; return the number of rows of each.

    Triggers and foreign keys are not checked while the rows are inserted.
    """
    schema = _read_schema(engine)
    counts = {}
    with engine.begin() as connection:
        connection.execute(text("SET LOCAL session_replication_role = replica"))
        for name in schema.tables if only is None else sorted(only):
            counts[name] = 1 if name in SINGLE else ROWS
            _insert_rows(connection, schema, name, counts[name])
    return counts


def list_columns(engine: Engine) -> dict[str, list[str]]:
    """Return the names of all columns of all tables except that of the revision."""
    query = (
        "SELECT table_name, array_agg(column_name::text ORDER BY ordinal_position)"
        " FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)"
        " WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name <> 'alembic_version'"
        " GROUP BY 1 ORDER BY 1"
    )
    with engine.connect() as connection:
        return {str(table): list(names) for table, names in connection.execute(text(query))}


def digest_columns(engine: Engine, columns: Mapping[str, list[str]]) -> dict[str, str]:
    """Return a digest of the given columns of all rows, for each table."""
    digests = {}
    with engine.connect() as connection:
        for table, names in columns.items():
            row = " || '|' || ".join(f"coalesce(\"{name}\"::text, '-')" for name in names)
            query = f"SELECT count(*) || md5(coalesce(string_agg({row}, ',' ORDER BY {row}), '')) FROM \"{table}\""
            digests[table] = str(connection.execute(text(query)).scalar())
    return digests


@dataclass(frozen=True, slots=True)
class _Schema:
    """Tables with their columns, foreign keys and checks, as the inspector of SQLAlchemy returns them."""

    tables: list[str]
    columns: dict[str, list[Any]]
    keys: dict[str, list[Any]]
    checks: dict[str, list[Any]]


def _read_schema(engine: Engine) -> _Schema:
    inspector = inspect(engine)

    def by_table(items: Mapping[Any, Any]) -> dict[str, list[Any]]:
        return {name: list(values) for (_, name), values in items.items()}

    columns = by_table(inspector.get_multi_columns())
    tables = sorted(set(columns) - {"alembic_version"})
    keys, checks = inspector.get_multi_foreign_keys(), inspector.get_multi_check_constraints()
    return _Schema(tables, columns, by_table(keys), by_table(checks))


def _insert_rows(connection: Connection, schema: _Schema, table: str, count: int) -> None:
    references = {
        local: (key["referred_table"], remote)
        for key in schema.keys.get(table, [])
        for local, remote in zip(key["constrained_columns"], key["referred_columns"], strict=True)
    }
    choices = _read_choices(schema.checks.get(table, []))
    special = SPECIAL.get(table, {})
    types = {
        column["name"]: str(column["type"]).lower()
        for column in schema.columns[table]
        if not column.get("computed") and not column.get("identity")
    }

    def choose_value(name: str, row: int) -> Any:
        if name in special:
            return special[name][row] if isinstance(special[name], tuple) else special[name]
        if name in choices and name not in references:
            return choices[name][row % len(choices[name])]
        return _build_value(*references.get(name, (table, name)), types[name], row)

    names = ", ".join(f'"{name}"' for name in types)
    places = ", ".join(f"CAST(:{name} AS {kind})" for name, kind in types.items())
    rows = [{name: choose_value(name, row) for name in types} for row in range(count)]
    connection.execute(text(f'INSERT INTO "{table}" ({names}) VALUES ({places})'), rows)


def _read_choices(checks: list[Any]) -> dict[str, list[str]]:
    """Return the values that a check lists for a column."""
    choices = {}
    for check in checks:
        sql = check["sqltext"]
        literals = [item.replace("''", "'") for item in _LITERAL.findall(sql)]
        match = re.match(r"\(?\(?(\w+) = (?:ANY|')", sql)
        if literals and match and " AND " not in sql and " OR " not in sql:
            choices[match.group(1)] = literals
    return choices


def _build_value(table: str, column: str, kind: str, row: int) -> Any:
    """Return a value of a type that is different for each row."""
    if kind == "uuid":
        return str(uuid5(NAMESPACE, f"{table}.{column}.{row}"))
    if kind in ("jsonb", "json"):
        return f'{{"row": {row}}}'
    if kind == "bytea":
        return _BYTES + bytes([row])
    if kind.startswith("timestamp"):
        return f"2026-01-0{row + 1} 00:00:00+00"
    if kind == "boolean":
        return row == 0
    if kind in ("integer", "bigint", "smallint"):
        return row + 1
    if kind.startswith(("double", "float", "numeric", "real")):
        return row + 0.5
    if kind.endswith("[]"):
        return "{}"
    return f"{column} {row}"
