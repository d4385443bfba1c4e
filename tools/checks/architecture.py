"""Compare the tree of docs/architecture.md with the repository: `python -m tools.checks.architecture`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from culprit.launcher.paths import ROOT

PAGE = ROOT / "docs" / "architecture.md"
LINE = re.compile(r"^(?P<indent> *)(?P<folder>[\w./-]+)/ {2,}\S")
#: Folders whose every subfolder is listed.
LISTED = ("backend/culprit", "collectors", "frontend/src")


def read_tree(page: str) -> list[str]:
    """Return the folders of the tree in the section Layout. Raises ValueError where there is none."""
    match = re.search(r"^## Layout$.*?^```$(.*?)^```$", page, re.M | re.S)
    if match is None:
        raise ValueError("docs/architecture.md has no tree in its section Layout")
    folders, parent = [], ""
    for line in match[1].splitlines():
        entry = LINE.match(line)
        if entry is None:
            continue
        if not entry["indent"]:
            parent = entry["folder"]
            folders.append(parent)
        else:
            folders.append(f"{parent}/{entry['folder']}")
    return folders


def list_folders(root: Path = ROOT) -> set[str]:
    """Return every folder with a tracked file."""
    listing = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout
    return {
        str(parent)
        for path in listing.splitlines()
        if (root / path).is_file()
        for parent in Path(path).parents
    }


def compare_tree(page: str, folders: set[str]) -> list[str]:
    """Return one line per difference between the page and the folders of the repository."""
    tree = read_tree(page)
    problems = [
        f"{folder}: in docs/architecture.md, not in the repository"
        for folder in tree
        if folder not in folders
    ]
    top = {folder for folder in folders if "/" not in folder and not folder.startswith(".")}
    covered = {folder.split("/")[0] for folder in tree}
    problems += [f"{folder}: not in docs/architecture.md" for folder in sorted(top - covered)]
    for parent in LISTED:
        children = {folder for folder in folders if str(Path(folder).parent) == parent}
        problems += [f"{folder}: not in docs/architecture.md" for folder in sorted(children - set(tree))]
    return problems


if __name__ == "__main__":
    differences = compare_tree(PAGE.read_text("utf-8"), list_folders())
    sys.stdout.write(
        "".join(f"{line}\n" for line in differences) + f"{len(differences)} differences in the tree\n"
    )
    sys.exit(bool(differences))
