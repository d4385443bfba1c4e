"""Check that every relative link of a Markdown page has a target: `python -m tools.checks.doc_links`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from culprit.launcher.paths import ROOT

CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.M | re.S)
LINK = re.compile(r"\]\((?!\w+:)([^()\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?) *$", re.M)
ANCHOR = re.compile(r"<a (?:id|name)=\"([^\"]+)\"")


def make_slug(heading: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def list_anchors(page: str) -> set[str]:
    """Return the anchors of a page: those of its headings and those that it sets."""
    text = re.sub(r"^```.*?^```", "", page, flags=re.M | re.S)
    return {make_slug(heading) for heading in HEADING.findall(text)} | set(ANCHOR.findall(text))


def has_target(path: Path, anchor: str) -> bool:
    """Return whether the file exists and, where it is a page, has the anchor."""
    if not path.exists():
        return False
    return not anchor or path.suffix != ".md" or anchor in list_anchors(path.read_text("utf-8"))


def find_broken_links(path: Path) -> list[str]:
    """Return the relative links of a page that lead to no file, or to no anchor of a page."""
    broken = []
    for link in LINK.findall(CODE.sub("", path.read_text("utf-8"))):
        file, _, anchor = link.partition("#")
        if not has_target(path.parent / file if file else path, anchor):
            broken.append(link)
    return broken


def main() -> int:
    """Print every broken link; returns the exit code."""
    listing = subprocess.run(
        ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    problems = [
        f"{page}: broken link {link}"
        for page in listing.splitlines()
        if (ROOT / page).is_file()
        for link in find_broken_links(ROOT / page)
    ]
    for problem in problems:
        sys.stdout.write(f"{problem}\n")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
