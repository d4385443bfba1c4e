"""Check of the artifact store: write, read and delete an object."""

from __future__ import annotations

import hashlib
import secrets
import socket
import threading
from collections.abc import Callable
from urllib.parse import urlsplit

from culprit.infra.artifacts.s3 import UNUSABLE, BucketMissingError
from culprit.infra.artifacts.store import make_store
from culprit.infra.settings import Settings
from culprit.server.doctor.results import ServiceCheck, get_first_line

NAME = "artifact store"
CONNECT_S = 3
#: The client of the store repeats requests for minutes.
STORE_S = 20.0
KEYS = "check S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY"


def check_store(config: Settings) -> ServiceCheck:
    """Check that an object can be written, read and deleted."""
    if config.s3_bucket is None and config.s3_endpoint:
        message = "S3_ENDPOINT is set without S3_BUCKET, so files are stored in CULPRIT_HOME."
        return ServiceCheck(NAME, "problem", message, "export S3_BUCKET=culprit")
    place = f"bucket {config.s3_bucket}" if config.s3_bucket else f"{config.home / 'artifacts'}"
    unreachable = _find_endpoint_error(config.s3_endpoint) if config.s3_bucket else None
    if unreachable:
        message = f"The store does not answer at {config.s3_endpoint}: {unreachable}."
        return ServiceCheck(NAME, "problem", message, f"curl -sv {config.s3_endpoint}")
    try:
        done = _run_limited(lambda: _write_and_delete(config), STORE_S)
    except BucketMissingError:
        endpoint = f" --endpoint-url {config.s3_endpoint}" if config.s3_endpoint else ""
        message = f"The {place} does not exist, or its keys may not write to it."
        return ServiceCheck(NAME, "problem", message, f"aws s3 mb s3://{config.s3_bucket}{endpoint}")
    except UNUSABLE as error:
        return ServiceCheck(NAME, "problem", f"The {place} refuses an object: {get_first_line(error)}.", KEYS)
    except OSError as error:
        message = f"Files cannot be written to {place}: {error.strerror or error}."
        return ServiceCheck(NAME, "problem", message, f"ls -ld {config.home} {place}")
    if not done:
        message = f"The {place} did not store an object within {STORE_S:.0f} s."
        return ServiceCheck(NAME, "problem", message, KEYS)
    return ServiceCheck(NAME, "ok", f"An object was written to {place}, read and deleted.")


def _find_endpoint_error(endpoint: str | None) -> str | None:
    """Return why no connection to the endpoint is possible, or None; the store of Amazon has no endpoint."""
    if not endpoint:
        return None
    try:
        parts = urlsplit(endpoint)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname or "", port), timeout=CONNECT_S).close()
    except ValueError:
        return "this is not an address"
    except OSError as error:
        return error.strerror or str(error) or type(error).__name__
    return None


def _write_and_delete(config: Settings) -> None:
    """Store random bytes, compare and delete them. Raises OSError and the errors of the store."""
    store, content = make_store(config), secrets.token_bytes(64)
    digest = hashlib.sha256(content).hexdigest()
    try:
        store.put([content], len(content))
        store.verify(digest)
    finally:
        store.delete(digest)


def _run_limited(work: Callable[[], None], seconds: float) -> bool:
    """Run in a thread that ends with the process; return whether it ended in time. Raises the error of `work`."""
    errors: list[BaseException] = []

    def run_work() -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 - the caller raises it
            errors.append(error)

    thread = threading.Thread(target=run_work, daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    return not thread.is_alive()
