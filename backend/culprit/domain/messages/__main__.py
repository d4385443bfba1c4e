"""Write the messages as JSON for the frontend: `python -m culprit.domain.messages [folder]`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from culprit.domain.messages import LOCALES, load_messages
from culprit.domain.messages.collector_messages import register_collector_messages

DEFAULT = Path(__file__).resolve().parents[4] / "frontend" / "src" / "i18n"


def write_messages(folder: Path) -> list[Path]:
    """Write `server.<locale>.json` for every language and return the files."""
    register_collector_messages()
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for locale in LOCALES:
        path = folder / f"server.{locale}.json"
        text = json.dumps(dict(sorted(load_messages(locale).items())), ensure_ascii=False, indent=2)
        path.write_text(text + "\n", encoding="utf-8")
        written.append(path)
    return written


if __name__ == "__main__":
    write_messages(Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT)
