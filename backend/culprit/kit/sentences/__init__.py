"""Every sentence that the server says to people, in both languages of the product.

`en.yaml` and `zh.yaml` map a flat key to a text with `{parameters}`. Rows, tasks and answers carry only key
and parameters; the text is made where it is read. The browser gets the same files as JSON, written by
`python -m culprit.kit.sentences`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import yaml

HERE = Path(__file__).parent
LOCALES = ("en", "zh")


@lru_cache(maxsize=len(LOCALES))
def catalogue(locale: str) -> Mapping[str, str]:
    """All texts of one language by key."""
    loaded = yaml.safe_load((HERE / f"{locale}.yaml").read_text(encoding="utf-8")) or {}
    return {str(key): str(text) for key, text in loaded.items()}


def say(key: str, params: Mapping[str, object] | None = None, locale: str = "en") -> str:
    """The text of a sentence; a key without a text is shown as itself, so that nothing is hidden."""
    text = catalogue(locale if locale in LOCALES else "en").get(key)
    if text is None:
        pairs = ", ".join(f"{name}={value}" for name, value in (params or {}).items())
        return f"{key} ({pairs})" if pairs else key
    for name, value in (params or {}).items():
        text = text.replace("{" + name + "}", str(value))
    return text
