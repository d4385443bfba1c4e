"""Playbook catalog: load the files of Culprit, and validate custom playbooks.

python -m culprit.analysis.playbooks.library [FILE ...]     validate these files, or the whole catalog
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from collectors.contract import Sentence
from collectors.metrics.registry import METRICS
from culprit.domain.messages import render_message
from culprit.domain.playbooks.check import KnownIds, PlaybookProblem, find_problems
from culprit.domain.playbooks.model import Playbook
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.registry import CAUSES, RULES
from culprit.domain.rules.rule import Measure

CATALOG = Path(__file__).resolve().parents[2] / "domain" / "playbooks" / "catalog"
#: Ten times the size of the largest file in the catalog.
MAX_BYTES = 256 * 1024
_READER = TypeAdapter(Playbook)
#: libyaml reads the catalog ten times as fast. Custom playbooks do not use it, because it has no limit of depth.
_FAST = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class PlaybookCheckResult:
    """Result of a validation: the playbook, or None with its problems."""

    playbook: Playbook | None
    problems: tuple[PlaybookProblem, ...]


def check_text(
    text: str, other_ids: Collection[str] = (), loader: Any = yaml.SafeLoader
) -> PlaybookCheckResult:
    """Parse and validate a playbook. `other_ids` are playbooks outside of the catalog that its branches may name."""
    if len(text.encode()) > MAX_BYTES:
        return PlaybookCheckResult(None, (_build_problem("", "too_large", most=MAX_BYTES),))
    try:
        # Nested aliases can expand to any size.
        if any(isinstance(item, yaml.AliasEvent) for item in yaml.parse(text, Loader=loader)):
            return PlaybookCheckResult(None, (_build_problem("", "alias"),))
        document = yaml.load(text, Loader=loader)  # noqa: S506
    except yaml.YAMLError as error:
        return PlaybookCheckResult(
            None, (_build_problem("", "not_yaml", error=" ".join(str(error).split())[:300]),)
        )
    try:
        playbook = _READER.validate_python(document)
    except ValidationError as error:
        return PlaybookCheckResult(
            None,
            tuple(
                _build_problem(
                    ".".join(str(part) for part in item["loc"]), "invalid_field", error=item["msg"]
                )
                for item in error.errors(include_url=False, include_context=False, include_input=False)
            ),
        )
    problems = find_problems(playbook, list_known_ids(other_ids))
    return PlaybookCheckResult(None if problems else playbook, tuple(problems))


def list_known_ids(other_ids: Collection[str] = ()) -> KnownIds:
    """Return the ids that playbooks may use."""
    measures = {read.id for rule in RULES.values() for read in rule.inputs() if isinstance(read, Measure)}
    return KnownIds(
        RULES.keys(),
        {name: item.causes if item.strength is not Strength.CONTEXT else () for name, item in RULES.items()},
        {name: item.refutes for name, item in RULES.items()},
        CAUSES.keys(),
        {*METRICS, *measures},
        {*(item.stem for item in _list_files()), *other_ids},
    )


@cache
def load_catalog() -> Mapping[str, Playbook]:
    """Return the catalog by id. Raise ValueError for an invalid file, because it must not be released."""
    results = {}
    for path in _list_files():
        checked = check_text(path.read_text("utf-8"), loader=_FAST)
        if checked.playbook is None or checked.playbook.id != path.stem:
            raise ValueError(
                f"{path.name}: "
                f"{[(item.location, render_message(item.what.key, item.what.params)) for item in checked.problems]}"
            )
        results[path.stem] = checked.playbook
    return results


def format_problem(problem: PlaybookProblem) -> str:
    """Return an error as one line of English."""
    text = render_message(problem.what.key, problem.what.params)
    return f"{problem.location}: {text}" if problem.location else text


def _list_files() -> list[Path]:
    return sorted(CATALOG.glob("*.yaml"))


def _build_problem(location: str, key: str, **params: str | int) -> PlaybookProblem:
    return PlaybookProblem(location, Sentence(f"playbook.{key}", params))


def main() -> int:
    """Print the errors, one per line."""
    paths = [Path(item) for item in sys.argv[1:]] or _list_files()
    bad = 0
    for path in paths:
        for problem in check_text(path.read_text("utf-8"), {each.stem for each in paths}).problems:
            bad += 1
            print(f"{path.name}: {format_problem(problem)}")
    print(f"{len(paths)} playbooks, {bad} problems")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
