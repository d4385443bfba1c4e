"""Parse comma-, semicolon- or tab-separated lists with a header.

Columns: name, address, port, username (user), jump_host (jump), fingerprint, host_key; every other column is
a label. Only `address` or `name` is required.
"""

from __future__ import annotations

import csv
import io
import re

from culprit.hosts.inventory.candidate import MAX_LINE, Candidate, limit_candidates, parse_port, split_lines
from culprit.web.errors import InvalidRequestError

COLUMN_NAMES = {
    "name": "name", "host": "name", "hostname": "name", "address": "address", "ip": "address",
    "port": "port", "username": "username", "user": "username", "jump_host": "jump", "jump": "jump",
    "fingerprint": "fingerprint", "host_key_fingerprint": "fingerprint", "host_key": "host_key",
}  # fmt: skip
MAX_COLUMNS = 60
LABEL = re.compile(r"^[A-Za-z][A-Za-z0-9_.-]{0,62}$")


def parse_hosts(text: str) -> list[Candidate]:
    """Return one candidate per row. Raises InvalidRequestError without a usable header."""
    lines = split_lines(text.removeprefix("\ufeff"))
    header = next((line for line in lines if line.strip()), "")
    delimiter = max(",;\t", key=header.count)
    reader = csv.reader(io.StringIO("\n".join(lines)), delimiter=delimiter, strict=True)
    columns: list[str] | None = None
    candidates: list[Candidate] = []
    limit = csv.field_size_limit(MAX_LINE)
    try:
        for row in reader:
            if not any(cell.strip() for cell in row) or row[0].lstrip().startswith("#"):
                continue
            if columns is None:
                columns = _parse_header(row)
                continue
            candidates.append(_build_candidate(reader.line_num, columns, row))
            if len(candidates) % 500 == 1:
                limit_candidates(candidates)
    except csv.Error as error:
        raise InvalidRequestError("import.csv_unreadable", line=reader.line_num, detail=str(error)) from None
    finally:
        csv.field_size_limit(limit)
    return limit_candidates(candidates)


def _parse_header(row: list[str]) -> list[str]:
    columns = [cell.strip().lower().removeprefix("label.").removeprefix("label:") for cell in row]
    if len(columns) > MAX_COLUMNS or not {COLUMN_NAMES.get(name) for name in columns} & {"name", "address"}:
        raise InvalidRequestError("import.csv_header")
    return columns


def _build_candidate(line: int, columns: list[str], row: list[str]) -> Candidate:
    values: dict[str, str] = {}
    labels: dict[str, str] = {}
    for column, cell in zip(columns, row, strict=False):
        text = cell.strip()
        if not text:
            continue
        if column in COLUMN_NAMES:
            values.setdefault(COLUMN_NAMES[column], text)
        elif LABEL.match(column):
            labels[column] = text
    name = values.get("name") or values.get("address", "")
    port = parse_port(values["port"]) if "port" in values else None
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
