"""Logs as JSON lines on standard error, in one form for this code and for libraries."""

from __future__ import annotations

import logging
import re
import sys
from typing import Any

import structlog

#: Paths that contain a secret after the first folder: links to reports, upload addresses.
_SECRET_PATHS = re.compile(r"(/(?:r|up)/)[A-Za-z0-9_%-]{40,}")


def configure_logging(level: str = "INFO") -> None:
    """Set up logging for this process."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(ensure_ascii=False),
                _mask_secrets,
            ],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    for name in ("uvicorn", "uvicorn.access", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [], True
    logging.getLogger("paramiko").setLevel(logging.WARNING)


def _mask_secrets(_: object, __: str, line: Any) -> str:
    """Mask secrets in a log line, including those of the access log of the server."""
    return _SECRET_PATHS.sub(r"\1…", str(line))
