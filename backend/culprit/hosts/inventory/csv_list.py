"""Comma- or semicolon- or tab-separated lists with a header.

Columns: name, address, port, username (user), jump_host (jump), fingerprint, host_key; every other column is
a label. Only `address` or `name` must be there.
"""

from __future__ import annotations

import csv
import io
import re

from culprit.hosts.inventory.candidate import MAX_LINE, Candidate, bounded, lines_of, port_of
from culprit.kit.errors import Invalid

KNOWN = {
    "name": "name", "host": "name", "hostname": "name", "address": "address", "ip": "address",
    "port": "port", "username": "username", "user": "username", "jump_host": "jump", "jump": "jump",
    "fingerprint": "fingerprint", "host_key_fingerprint": "fingerprint", "host_key": "host_key",
}  # fmt: skip
MAX_COLUMNS = 60
LABEL = re.compile(r"^[A-Za-z][A-Za-z0-9_.-]{0,62}$")


def read(text: str) -> list[Candidate]:
    """One candidate per row. Raises Invalid where there is no usable header."""
    lines = lines_of(text.removeprefix("\ufeff"))
    header = next((line for line in lines if line.strip()), "")
    delimiter = max(",;\t", key=header.count)
    reader = csv.reader(io.StringIO("\n".join(lines)), delimiter=delimiter, strict=True)
    columns: list[str] | None = None
    found: list[Candidate] = []
    limit = csv.field_size_limit(MAX_LINE)
    try:
        for row in reader:
            if not any(cell.strip() for cell in row) or row[0].lstrip().startswith("#"):
                continue
            if columns is None:
                columns = _header(row)
                continue
            found.append(_candidate(reader.line_num, columns, row))
            if len(found) % 500 == 1:
                bounded(found)
    except csv.Error as error:
        raise Invalid("import.csv_unreadable", line=reader.line_num, detail=str(error)) from None
    finally:
        csv.field_size_limit(limit)
    return bounded(found)


def _header(row: list[str]) -> list[str]:
    columns = [cell.strip().lower().removeprefix("label.").removeprefix("label:") for cell in row]
    if len(columns) > MAX_COLUMNS or not {KNOWN.get(name) for name in columns} & {"name", "address"}:
        raise Invalid("import.csv_header")
    return columns


def _candidate(line: int, columns: list[str], row: list[str]) -> Candidate:
    values: dict[str, str] = {}
    labels: dict[str, str] = {}
    for column, cell in zip(columns, row, strict=False):
        text = cell.strip()
        if not text:
            continue
        if column in KNOWN:
            values.setdefault(KNOWN[column], text)
        elif LABEL.match(column):
            labels[column] = text
    name = values.get("name") or values.get("address", "")
    port = port_of(values["port"]) if "port" in values else None
    problem = None
    if len(row) > len(columns):
        problem = "import.too_many_cells"
    elif not name:
        problem = "import.no_name"
    elif "port" in values and port is None:
        problem = "import.port_unreadable"
    return Candidate(
        line,
        name,
        values.get("address") or name,
        port,
        values.get("username"),
        labels,
        values.get("jump"),
        values.get("host_key"),
        values.get("fingerprint"),
        problem,
    )
