"""What the server says when somebody asked for the impossible.

    CulpritError
    ├── Invalid          422  the request makes no sense as it is
    ├── Unauthenticated  401  who are you?
    ├── Forbidden        403  you may not
    │   └── ProofNeeded  403  prove again who you are, then repeat the request
    ├── NotFound         404  there is no such thing, or not for you
    ├── Conflict         409  not in this state
    ├── Gone             410  it was there and is deleted; the sentence says since when
    ├── TooLarge         413  above a limit
    ├── TooMany          429  too often; `retry_after_s` says when
    └── Unavailable      503  a part of the platform is away
        └── Overloaded   503  all is there, and at work for others; `retry_after_s` says when to repeat

An error is a sentence (key and parameters, see `culprit.kit.sentences`), so that every client can say it in
its own language. What the world did wrong (a host without perf) is a stored outcome and no exception; our own
bugs are raised as what they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

Param = str | int | float


@dataclass(frozen=True, slots=True)
class FieldError:
    """One field of a request that cannot be accepted; `at` is its path, as in `labels.role`."""

    at: str
    key: str
    detail: str

    def as_dict(self) -> dict[str, str]:
        """The JSON form."""
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
        """Key and parameters, as they are stored and sent."""
        return {"key": self.key, "params": dict(self.params)}

    def __str__(self) -> str:
        return f"{self.key} {dict(self.params)}" if self.params else self.key


class Invalid(CulpritError):
    """422"""

    status = 422


class Unauthenticated(CulpritError):
    """401"""

    status = 401


class Forbidden(CulpritError):
    """403"""

    status = 403


class ProofNeeded(Forbidden):
    """403; `params["how"]` says with what: `password` or `provider`"""

    problem_type = "urn:culprit:problem:proof-needed"


class NotFound(CulpritError):
    """404"""

    status = 404


class Conflict(CulpritError):
    """409"""

    status = 409


class Gone(CulpritError):
    """410"""

    status = 410


class TooLarge(CulpritError):
    """413"""

    status = 413


class TooMany(CulpritError):
    """429"""

    status = 429

    def __init__(self, key: str, *, retry_after_s: int, **params: Param) -> None:
        super().__init__(key, errors=(), retry_after_s=retry_after_s, **params)
        self.retry_after_s = retry_after_s


class Unavailable(CulpritError):
    """503"""

    status = 503
    retry_after_s = 5


class Overloaded(Unavailable):
    """503 that is over in a moment; clients repeat what only reads."""

    problem_type = "urn:culprit:problem:overloaded"

    def __init__(self, key: str, *, retry_after_s: int = 1, **params: Param) -> None:
        super().__init__(key, errors=(), retry_after_s=retry_after_s, **params)
        self.retry_after_s = retry_after_s
