"""Write the sentences as JSON for the frontend: `python -m culprit.kit.sentences [folder]`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from culprit.kit.sentences import LOCALES, catalogue

DEFAULT = Path(__file__).resolve().parents[4] / "frontend" / "src" / "i18n"


def write(folder: Path) -> list[Path]:
    """Write `server.<locale>.json` for every language; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for locale in LOCALES:
        path = folder / f"server.{locale}.json"
        text = json.dumps(dict(sorted(catalogue(locale).items())), ensure_ascii=False, indent=2)
        path.write_text(text + "\n", encoding="utf-8")
        written.append(path)
    return written


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT)
