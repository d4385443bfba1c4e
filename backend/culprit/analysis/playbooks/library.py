"""The playbooks that come with Culprit, and the reading and checking of one's own.

python -m culprit.playbooks.library [FILE ...]     check these files, or the whole catalogue
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
from collectors.metrics import CATALOGUE as METRICS
from culprit.core.playbooks.check import Known, Problem, problems
from culprit.core.playbooks.contract import Playbook
from culprit.core.rules.contract import Grade, Measure
from culprit.core.rules.registry import CAUSES, RULES
from culprit.kit.sentences import say

CATALOG = Path(__file__).parent / "catalog"
#: The longest of ours has a tenth of that.
MAX_BYTES = 256 * 1024
_READER = TypeAdapter(Playbook)
#: libyaml reads the catalogue ten times as fast. What others write is not for it: it knows no limit of depth.
_FAST = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Checked:
    """A file that was read: the playbook where it is sound, what is wrong with it where it is not."""

    playbook: Playbook | None
    problems: tuple[Problem, ...]


def check(text: str, beside: Collection[str] = (), loader: Any = yaml.SafeLoader) -> Checked:
    """Reads a playbook. `beside` are ids of other playbooks, next to those of the catalogue, that it may lead to."""
    if len(text.encode()) > MAX_BYTES:
        return Checked(None, (_wrong("", "too_large", most=MAX_BYTES),))
    try:
        # An alias can stand for as much as one likes.
        if any(isinstance(one, yaml.AliasEvent) for one in yaml.parse(text, Loader=loader)):
            return Checked(None, (_wrong("", "alias"),))
        document = yaml.load(text, Loader=loader)  # noqa: S506
    except yaml.YAMLError as error:
        return Checked(None, (_wrong("", "not_yaml", said=" ".join(str(error).split())[:300]),))
    try:
        playbook = _READER.validate_python(document)
    except ValidationError as error:
        return Checked(
            None,
            tuple(
                _wrong(".".join(str(part) for part in one["loc"]), "shape", said=one["msg"])
                for one in error.errors(include_url=False, include_context=False, include_input=False)
            ),
        )
    found = problems(playbook, known(beside))
    return Checked(None if found else playbook, tuple(found))


def known(beside: Collection[str] = ()) -> Known:
    """The names that playbooks may use."""
    measures = {one.measure.id for one in RULES.values() if isinstance(one.measure, Measure)}
    return Known(
        RULES.keys(),
        {name: one.causes if one.grade is not Grade.CONTEXT else () for name, one in RULES.items()},
        {name: one.refutes for name, one in RULES.items()},
        CAUSES.keys(),
        {*METRICS, *measures},
        {*(one.stem for one in _files()), *beside},
    )


@cache
def library() -> Mapping[str, Playbook]:
    """The catalogue by id. Raises ValueError for a file that is not sound: a broken catalogue may not be shipped."""
    found = {}
    for path in _files():
        checked = check(path.read_text("utf-8"), loader=_FAST)
        if checked.playbook is None or checked.playbook.id != path.stem:
            raise ValueError(
                f"{path.name}: {[(one.where, say(one.what.key, one.what.params)) for one in checked.problems]}"
            )
        found[path.stem] = checked.playbook
    return found


def told(problem: Problem) -> str:
    """A mistake as one line of English."""
    text = say(problem.what.key, problem.what.params)
    return f"{problem.where}: {text}" if problem.where else text


def _files() -> list[Path]:
    return sorted(CATALOG.glob("*.yaml"))


def _wrong(where: str, key: str, **params: str | int) -> Problem:
    return Problem(where, Sentence(f"playbook.{key}", params))


def main() -> int:
    """Prints what is wrong, a line each."""
    paths = [Path(one) for one in sys.argv[1:]] or _files()
    bad = 0
    for path in paths:
        for one in check(path.read_text("utf-8"), {each.stem for each in paths}).problems:
            bad += 1
            print(f"{path.name}: {told(one)}")
    print(f"{len(paths)} playbooks, {bad} problems")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
