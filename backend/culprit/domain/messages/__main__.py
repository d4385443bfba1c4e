"""Write the messages as JSON for the frontend: `python -m culprit.domain.messages [folder]`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from culprit.domain.messages import LOCALES, load_messages
from culprit.domain.messages.collector_messages import register_collector_messages

#: Areas of messages that pages display, by file. A page loads the file of its messages; all other areas answer
#: requests of forms, and are one file more.
GROUPS = {
    "events": ("event", "reported_event"),
    "incidents": ("autopilot", "incident", "journal", "next", "playbook", "verify"),
    "runs": (
        "artifact", "calls", "capture", "chart", "context", "diagnosis", "disassembly", "doubt", "guard", "ingest",
        "live", "missing", "naming", "profile", "reason", "remedy", "run", "ssh", "target", "timeline", "typical",
        "warning",
    ),
}  # fmt: skip
OTHER = "requests"
DEFAULT = Path(__file__).resolve().parents[4] / "frontend" / "src" / "i18n"


def find_group(key: str) -> str:
    """Return the group of the area of a message."""
    area = key.partition(".")[0]
    return next((group for group, areas in GROUPS.items() if area in areas), OTHER)


def write_messages(folder: Path) -> list[Path]:
    """Write `server.<group>.<locale>.json` for every group of areas and language, and `server.groups.json`, which
    names the groups of areas. Return the files.
    """
    register_collector_messages()
    folder.mkdir(parents=True, exist_ok=True)
    groups = folder / "server.groups.json"
    areas = {area: group for group, members in GROUPS.items() for area in members}
    groups.write_text(json.dumps(areas, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    written = [groups]
    for locale in LOCALES:
        messages = sorted(load_messages(locale).items())
        for group in (*GROUPS, OTHER):
            part = {key: text for key, text in messages if find_group(key) == group}
            path = folder / f"server.{group}.{locale}.json"
            path.write_text(json.dumps(part, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
            written.append(path)
    return written


if __name__ == "__main__":
    write_messages(Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT)
