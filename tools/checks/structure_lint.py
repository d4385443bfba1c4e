"""Check names and sizes that make code easy to find: `python -m tools.checks.structure_lint [--summary]`.

Rules: at most 15 modules per folder and 400 lines per file; `select(` only in `queries.py`, `locks.py` and `infra/`;
exceptions end in Error; a public class name is unique; a public function is a verb with a noun.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from culprit.launcher.paths import ROOT

MAX_MODULES, MAX_LINES = 15, 400
SELECT_FILES = re.compile(
    r"(^|/)(queries|locks|\w+_queries|\w+_locks)\.py$|/queries/|^backend/culprit/infra/|^migrations/"
)
#: Folders that are lists of alike items: each file is one item, found by its name.
CATALOGS = re.compile(
    r"/catalog/|/models/|/tests(/|$)|/causes/|^lab/faults|/fixtures(/|$)|^backend/culprit/cli/commands$"
)
#: Functions whose one-word name is a convention of Python or of a framework.
CONVENTIONS = frozenset(
    {"authorize", "main", "upgrade", "downgrade", "lifespan", "run", "client", "db", "config"}
)
PRODUCT = (
    "backend/culprit/",
    "collectors/",
    "bench/",
    "tools/",
    "lab/",
    "frontend/src/",
    "frontend/mock/",
    "e2e/",
)


@dataclass(slots=True)
class Findings:
    """What the check found: a list of lines per rule, and how many functions it counted."""

    lines: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    functions: int = 0
    single_word: int = 0


def list_files(root: Path) -> list[str]:
    """Return the tracked files of the product that are still there."""
    listing = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout
    return [path for path in listing.splitlines() if path.startswith(PRODUCT) and (root / path).is_file()]


def check_sizes(root: Path, files: list[str], findings: Findings) -> None:
    """Find folders with too many modules and files with too many lines."""
    folders: Counter[str] = Counter()
    for path in files:
        name = Path(path).name
        if Path(path).suffix not in {".py", ".ts", ".tsx"} or name.endswith(".d.ts"):
            continue
        if name != "__init__.py" and not re.search(r"\.(test|spec)\.tsx?$", name):
            folders[str(Path(path).parent)] += 1
        lines = (root / path).read_text("utf-8").count("\n")
        if lines > MAX_LINES:
            findings.lines["long file"].append(f"{path}: {lines} lines, at most {MAX_LINES}")
    for folder, count in sorted(folders.items()):
        if count > MAX_MODULES and not CATALOGS.search(folder):
            findings.lines["crowded folder"].append(f"{folder}: {count} modules, at most {MAX_MODULES}")


def is_exception(node: ast.ClassDef) -> bool:
    """Return whether a class is an exception by the names of its bases."""
    names = [ast.unparse(base) for base in node.bases]
    return any(re.search(r"(Error|Exception)$", name) for name in names)


def top_functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the functions of a module that are neither private nor fixtures."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
            if not any("fixture" in decorator for decorator in decorators):
                yield node


def check_names(root: Path, files: list[str], findings: Findings) -> None:
    """Find exceptions without Error, public classes with one name, functions of one word and stray SELECTs."""
    classes: dict[str, list[str]] = defaultdict(list)
    for path in files:
        if not path.endswith(".py") or "/tests/" in path:
            continue
        source = (root / path).read_text("utf-8")
        tree = ast.parse(source)
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                if not node.name.startswith("_"):
                    classes[node.name].append(path)
                if is_exception(node) and not node.name.endswith(("Error", "Exception", "Warning")):
                    findings.lines["exception name"].append(
                        f"{path}:{node.lineno}: {node.name} does not end in Error"
                    )
        for function in top_functions(tree):
            findings.functions += 1
            if "_" not in function.name and function.name not in CONVENTIONS:
                findings.single_word += 1
                findings.lines["one-word function"].append(f"{path}:{function.lineno}: {function.name}")
        if path.startswith("backend/culprit/") and not SELECT_FILES.search(path):
            for call in ast.walk(tree):
                if isinstance(call, ast.Call) and ast.unparse(call.func) in {"select", "sa.select"}:
                    findings.lines["select outside queries.py"].append(f"{path}:{call.lineno}: select(")
    for name, paths in sorted(classes.items()):
        if len(paths) > 1:
            findings.lines["homonym"].append(f"class {name}: {', '.join(paths)}")


def check_tree(root: Path = ROOT) -> Findings:
    """Check every tracked file of the product."""
    findings = Findings()
    files = list_files(root)
    check_sizes(root, files, findings)
    check_names(root, files, findings)
    return findings


def main(arguments: list[str]) -> int:
    """Print the findings; exit code 1 where there is one."""
    parser = argparse.ArgumentParser(prog="structure_lint")
    parser.add_argument("--summary", action="store_true", help="print counts only")
    parser.add_argument("--root", type=Path, default=ROOT)
    options = parser.parse_args(arguments)
    findings = check_tree(options.root)
    for rule, lines in sorted(findings.lines.items()):
        sys.stdout.write(f"{rule}: {len(lines)}\n")
        if not options.summary:
            sys.stdout.write("".join(f"  {line}\n" for line in lines))
    share = 100 * findings.single_word / max(1, findings.functions)
    sys.stdout.write(
        f"one-word public functions: {findings.single_word} of {findings.functions} ({share:.0f} %)\n"
    )
    return int(any(findings.lines.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
