"""Result of a check, and the removal of secrets from its text."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Literal
from urllib.parse import unquote, urlsplit

from culprit.infra.settings import Settings
from culprit.json_types import Json

State = Literal["ok", "warning", "problem"]
MASK = "***"
#: A shorter secret is not searched for: it would also mask words of a sentence.
MIN_SECRET_CHARACTERS = 8
#: User and password of an address; the placeholders of a command are in capitals.
CREDENTIALS = re.compile(r"(?<=://)(?![A-Z]*:PASSWORD@)[^\s/@]*:[^\s@]*(?=@)")


@dataclass(frozen=True, slots=True)
class ServiceCheck:
    """What a check reports: one sentence, and for a warning or a problem the command that helps."""

    check: str
    state: State
    message: str
    command: str | None = None

    def to_json(self) -> Json:
        """Return the check as a JSON object."""
        return asdict(self)


def list_secrets(config: Settings | None, environment: Iterable[tuple[str, str]]) -> set[str]:
    """Return the texts that no check may print: secret keys, and passwords of addresses."""
    texts: set[str] = set()
    for name, value in environment:
        if re.search(r"SECRET|PASSWORD|TOKEN", name) and not name.endswith(("_FILE", "_VERSION")):
            texts |= {value, *(part.partition(":")[2] for part in value.split(","))}
        if name in {"DATABASE_URL", "REDIS_URL", "S3_ENDPOINT"}:
            texts |= set(_list_passwords(value))
    if config is not None and config.secret_key_file is not None:
        with contextlib.suppress(OSError, ValueError):
            texts.add(config.secret_key_file.read_text(encoding="ascii").strip())
    return {text for text in texts if len(text) >= MIN_SECRET_CHARACTERS}


def _list_passwords(url: str) -> Iterator[str]:
    try:
        password = urlsplit(url).password
    except ValueError:
        password = None
    if password:
        yield password
        yield unquote(password)
    yield from re.findall(r"password=([^\s&]+)", url)


def mask_secrets(check: ServiceCheck, secrets: Iterable[str]) -> ServiceCheck:
    """Return the check with each secret, and each pair of credentials in an address, replaced by `***`."""

    def mask(text: str) -> str:
        for secret in sorted(secrets, key=len, reverse=True):
            text = text.replace(secret, MASK)
        return CREDENTIALS.sub(MASK, text)

    command = None if check.command is None else mask(check.command)
    return replace(check, message=mask(check.message), command=command)


def get_first_line(error: BaseException) -> str:
    """Return the first line of an error: the other lines are for developers of the library."""
    return str(error).strip().partition("\n")[0][:300] or type(error).__name__
