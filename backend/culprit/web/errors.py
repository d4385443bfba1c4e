"""Errors that become HTTP answers.

    CulpritError
    ├── InvalidRequestError    422  the request is not valid
    ├── UnauthenticatedError   401  login required
    ├── ForbiddenError         403  not permitted
    │   └── ProofRequiredError 403  log in again, then repeat the request
    ├── NotFoundError          404  missing, or not visible for this account
    ├── ConflictError          409  not possible in the current state
    ├── GoneError              410  deleted; the message contains the time
    ├── TooLargeError          413  above a limit
    ├── TooManyRequestsError   429  too often; `retry_after_s` is the time to wait
    └── UnavailableError       503  a part of the platform does not respond
        └── OverloadedError    503  all capacity is in use; `retry_after_s` is the time to wait

An error carries a message key and parameters (see `culprit.domain.messages`), so that each client renders it
in its language. A failure on a host (such as missing perf) is a stored outcome and not an exception.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

Param = str | int | float


@dataclass(frozen=True, slots=True)
class FieldError:
    """One field of a request that is not accepted; `at` is its path, such as `labels.role`."""

    at: str
    key: str
    detail: str

    def as_dict(self) -> dict[str, str]:
        """Return the JSON form."""
        return asdict(self)


class CulpritError(Exception):
    """An answer with a status code. Raise a subclass."""

    status = 500
    #: The `type` of the problem (RFC 9457), for the few problems that a client handles by program.
    problem_type = "about:blank"

    def __init__(self, key: str, *, errors: Sequence[FieldError] = (), **params: Param) -> None:
        super().__init__(key)
        self.key = key
        self.params: Mapping[str, Param] = params
        self.errors = tuple(errors)

    @property
    def sentence(self) -> dict[str, object]:
        """Return key and parameters, as stored and sent."""
        return {"key": self.key, "params": dict(self.params)}

    def __str__(self) -> str:
        return f"{self.key} {dict(self.params)}" if self.params else self.key


class InvalidRequestError(CulpritError):
    """422"""

    status = 422


class UnauthenticatedError(CulpritError):
    """401"""

    status = 401


class ForbiddenError(CulpritError):
    """403"""

    status = 403


class ProofRequiredError(ForbiddenError):
    """403; `params["how"]` names the required proof: `password` or `provider`"""

    problem_type = "urn:culprit:problem:proof-needed"


class NotFoundError(CulpritError):
    """404"""

    status = 404


class ConflictError(CulpritError):
    """409"""

    status = 409


class GoneError(CulpritError):
    """410"""

    status = 410


class TooLargeError(CulpritError):
    """413"""

    status = 413


class TooManyRequestsError(CulpritError):
    """429"""

    status = 429

    def __init__(self, key: str, *, retry_after_s: int, **params: Param) -> None:
        super().__init__(key, errors=(), retry_after_s=retry_after_s, **params)
        self.retry_after_s = retry_after_s


class UnavailableError(CulpritError):
    """503"""

    status = 503
    retry_after_s = 5


class OverloadedError(UnavailableError):
    """503 for a short time; clients repeat requests that only read."""

    problem_type = "urn:culprit:problem:overloaded"

    def __init__(self, key: str, *, retry_after_s: int = 1, **params: Param) -> None:
        super().__init__(key, errors=(), retry_after_s=retry_after_s, **params)
        self.retry_after_s = retry_after_s
