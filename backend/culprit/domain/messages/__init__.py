"""Messages for people in the languages of the product.

A feature has its own messages in `messages.yaml` in its folder, which maps a key to its text in every language:
`watcher.not_found: {en: "…", zh: "…"}`. Messages that several features share are in `en/` and `zh/`, one file per
area, which maps a key to its text. Texts have `{parameters}`. Rows, jobs and responses carry only the key and its
parameters; the text is rendered where it is read. The browser gets the same texts as JSON, written by
`python -m culprit.domain.messages`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import yaml

HERE = Path(__file__).parent
FEATURES = HERE.parents[1]
FEATURE_FILE = "messages.yaml"
LOCALES = ("en", "zh")
_REGISTERED: dict[str, dict[str, str]] = {locale: {} for locale in LOCALES}


def list_message_files(locale: str) -> list[Path]:
    """Return the files with texts of one language: those of its folder, then those of the features."""
    return [*sorted((HERE / locale).glob("*.yaml")), *sorted(FEATURES.rglob(FEATURE_FILE))]


def _read_texts(path: Path, locale: str) -> dict[str, str]:
    texts = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    if path.name == FEATURE_FILE:
        return {str(key): str(languages[locale]) for key, languages in texts.items()}
    return {str(key): str(text) for key, text in texts.items()}


@lru_cache(maxsize=len(LOCALES))
def load_messages(locale: str) -> Mapping[str, str]:
    """Return all texts of one language by key.

    Raises ValueError for a key that two files define, KeyError where a feature has no text in this language.
    """
    messages: dict[str, str] = {}
    for path in list_message_files(locale):
        for key, text in _read_texts(path, locale).items():
            if key in messages:
                raise ValueError(f"{path} defines {key!r}, which another file of {locale} defines already")
            messages[key] = text
    for key, text in _REGISTERED[locale].items():
        if key in messages:
            raise ValueError(f"{key!r} is in the files of {locale} and was registered as well")
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
    for name, value in (params or {}).items():
        text = text.replace("{" + name + "}", str(value))
    return text
