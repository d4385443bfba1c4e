"""Secrets are in no line of a log, in those of libraries too."""

from __future__ import annotations

import io
import json
import logging
import secrets

import pytest
import structlog
from culprit.infra import logging as logs


@pytest.fixture
def log_output(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Return all log lines, including loggers that another test disabled;

    restore the configuration afterwards.
    """
    written, root, access = io.StringIO(), logging.getLogger(), logging.getLogger("uvicorn.access")
    before = (root.handlers, root.level, structlog.get_config())
    quiet = access.level
    monkeypatch.setattr("sys.stderr", written)
    logs.configure_logging("DEBUG")
    access.setLevel(logging.NOTSET)
    yield written
    root.handlers, level, config = before[0], before[1], before[2]
    root.setLevel(level)
    access.setLevel(quiet)
    structlog.configure(**config)


@pytest.mark.parametrize("path", ["/up/{}", "/up/{}?x=1", "/r/{}", "/r/{}/markdown"])
def test_log_cuts_secrets_from_paths(log_output: io.StringIO, path: str) -> None:
    token = secrets.token_urlsafe(32)
    where = path.format(token)
    logging.getLogger("uvicorn.access").info('%s - "%s %s HTTP/%s" %d', "192.0.2.1", "GET", where, "1.1", 200)
    structlog.get_logger("x").warning("odd", path=where)
    try:
        raise RuntimeError(where)
    except RuntimeError:
        logging.getLogger("x").exception("broken")
    lines = log_output.getvalue().splitlines()
    assert len(lines) == 3 and token not in log_output.getvalue()
    assert all(path.partition("{")[0] + "\N{HORIZONTAL ELLIPSIS}" in line for line in lines)
    assert [json.loads(line)["level"] for line in lines] == ["info", "warning", "error"]


def test_log_keeps_other_paths(log_output: io.StringIO) -> None:
    logging.getLogger("x").info("/api/v1/uploads/01a203ac-4d2b-7548-b2db-6d9b6249cde6 and /up/short")
    assert "01a203ac-4d2b-7548-b2db-6d9b6249cde6 and /up/short" in log_output.getvalue()
