"""What lets somebody in is in no line of a log, whoever writes it."""

from __future__ import annotations

import io
import json
import logging
import secrets

import pytest
import structlog
from culprit.kit import logs


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """All that is logged, also by servers that another test made quiet; afterwards everything is as it was."""
    written, root, access = io.StringIO(), logging.getLogger(), logging.getLogger("uvicorn.access")
    before = (root.handlers, root.level, structlog.get_config())
    quiet = access.level
    monkeypatch.setattr("sys.stderr", written)
    logs.configure("DEBUG")
    access.setLevel(logging.NOTSET)
    yield written
    root.handlers, level, config = before[0], before[1], before[2]
    root.setLevel(level)
    access.setLevel(quiet)
    structlog.configure(**config)


@pytest.mark.parametrize("path", ["/up/{}", "/up/{}?x=1", "/r/{}", "/r/{}/markdown"])
def test_paths_that_open_something_end_before_what_opens_it(said: io.StringIO, path: str) -> None:
    token = secrets.token_urlsafe(32)
    where = path.format(token)
    logging.getLogger("uvicorn.access").info('%s - "%s %s HTTP/%s" %d', "192.0.2.1", "GET", where, "1.1", 200)
    structlog.get_logger("x").warning("odd", path=where)
    try:
        raise RuntimeError(where)
    except RuntimeError:
        logging.getLogger("x").exception("broken")
    lines = said.getvalue().splitlines()
    assert len(lines) == 3 and token not in said.getvalue()
    assert all(path.partition("{")[0] + "\N{HORIZONTAL ELLIPSIS}" in line for line in lines)
    assert [json.loads(line)["level"] for line in lines] == ["info", "warning", "error"]


def test_other_paths_are_told_whole(said: io.StringIO) -> None:
    logging.getLogger("x").info("/api/v1/uploads/01a203ac-4d2b-7548-b2db-6d9b6249cde6 and /up/short")
    assert "01a203ac-4d2b-7548-b2db-6d9b6249cde6 and /up/short" in said.getvalue()
