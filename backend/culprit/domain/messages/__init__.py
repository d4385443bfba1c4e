"""Messages for people in the languages of the product.

Each package has its own messages in its `messages.yaml`, which maps a key to its text in every language:
`watcher.not_found: {en: "…", zh: "…"}`. Texts have `{parameters}`. Rows, jobs and responses carry only the key and
its parameters; the text is rendered where it is read. The browser gets the same texts as JSON, written by
`python -m culprit.domain.messages`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import yaml

from culprit.domain.messages.fill import fill_text

PACKAGES = Path(__file__).parents[2]
FILE = "messages.yaml"
LOCALES = ("en", "zh")
_REGISTERED: dict[str, dict[str, str]] = {locale: {} for locale in LOCALES}


def list_message_files() -> list[Path]:
    """Return the files with messages of all packages."""
    return sorted(PACKAGES.rglob(FILE))


@lru_cache(maxsize=1)
def _read_files() -> tuple[tuple[Path, dict[str, dict[str, str]]], ...]:
    """Return the texts of every file by key and language."""
    return tuple(
        (path, yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader))
        for path in list_message_files()
    )


@lru_cache(maxsize=len(LOCALES))
def load_messages(locale: str) -> Mapping[str, str]:
    """Return all texts of one language by key.

    Raises ValueError for a key that two files define, KeyError for one without a text in this language.
    """
    messages: dict[str, str] = {}
    for path, texts in _read_files():
        for key, languages in texts.items():
            if key in messages:
                raise ValueError(f"{path} defines {key!r}, which another file defines already")
            messages[key] = languages[locale]
    for key, text in _REGISTERED[locale].items():
        if key in messages:
            raise ValueError(f"{key!r} is in a file and was registered as well")
        messages[key] = text
    return messages


def register_messages(locale: str, texts: Mapping[str, str]) -> None:
    """Add texts that are not in the files. Registering the same texts again changes nothing."""
    _REGISTERED[locale].update(texts)
    load_messages.cache_clear()


def render_message(key: str, params: Mapping[str, object] | None = None, locale: str = "en") -> str:
    """Return the text of a message. A key without a text is returned as it is, with its parameters."""
    text = load_messages(locale if locale in LOCALES else "en").get(key)
    if text is None:
        pairs = ", ".join(f"{name}={value}" for name, value in (params or {}).items())
        return f"{key} ({pairs})" if pairs else key
    return fill_text(text, params or {})
