"""Every collector, rule, cause and fault with what proves it, as promises for docs/status.md (JSON on stdout).

    python -m bench.catalogue

A collector is proven by reading what it really captured; a rule by a case that makes it fire and one that leaves it
quiet; a cause and a fault by rounds of the score (docs/score.json) in which the cause was named first and no wrong
one beside it.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import yaml
from culprit.core.rules.registry import CAUSES, RULES
from culprit.launch.paths import ROOT

from collectors.registry import COLLECTORS
from e2e.lab.faults import scenarios

Json = dict[str, Any]
SCORE = ROOT / "docs" / "score.json"
FIXTURES = ROOT / "collectors" / "tests" / "fixtures"
GOLDEN = "collectors/tests/test_collectors.py::test_golden"
STEPS = "backend/culprit/tests/core/rules/test_seeds.py::test_the_figure_of_the_case_study"
COMMAND = "./culprit bench score --only"


def promises() -> dict[str, list[Json]]:
    """Sections as in docs/promises.yaml."""
    rounds = latest(json.loads(SCORE.read_text())["plays"]) if SCORE.exists() else []
    return {
        "Collectors": [_collector(name) for name in sorted(COLLECTORS)],
        "Rules": _rules(),
        "Causes": [_cause(name, rounds) for name in sorted(CAUSES)],
        "Faults": [_fault(name, rounds) for name in sorted(scenarios())],
    }


def latest(plays: list[Json]) -> list[Json]:
    """The rounds that speak of the rules as they are now: of each scenario, those of the last play that has it."""
    last = {one["scenario"]: at for at, play in enumerate(plays) for one in play["rounds"]}
    return [one for at, play in enumerate(plays) for one in play["rounds"] if last[one["scenario"]] == at]


def _collector(name: str) -> Json:
    cases = sorted(one.parent.name for one in (FIXTURES / name).glob("*/how.json"))
    made_up = [one for one in cases if _told(FIXTURES / name / one).get("synthetic")]
    real = [one for one in cases if one not in made_up]
    found: Json = {"promise": name}
    if real:
        return found | {"tests": [f"{GOLDEN}[{name}/{one}]" for one in real]}
    why = "; ".join(str(_told(FIXTURES / name / one)["synthetic"]) for one in made_up)
    return found | ({"untested": why} if why else {})


def _told(folder: Path) -> Json:
    return dict(json.loads((folder / "how.json").read_text()))


def _rules() -> list[Json]:
    states: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for file in sorted((ROOT / "backend/culprit/tests/core/rules").glob("[cs]*/*.yaml")):
        for step in yaml.safe_load(file.read_text()):
            if {"parts", "fixture", "reports"} & step.keys():
                name = f"{STEPS}[{step['rule']}/{file.stem}/{step['step']}]"
                states[step["rule"]][step["state"]].append(name)
                if "after" in step:
                    states[step["rule"]]["quiet"].append(name)
    return [_rule(name, states[name]) for name in sorted(RULES)]


def _rule(name: str, states: dict[str, list[str]]) -> Json:
    fired, quiet = states.get("fired", []), states.get("quiet", [])
    found: Json = {"promise": f"{name} ({RULES[name].grade})"}
    if fired and quiet:
        return found | {"tests": [fired[0], quiet[0]]}
    lacking = [what for what, cases in (("fires", fired), ("stays quiet", quiet)) if not cases]
    only = states.get("inconclusive", []) or states.get("not_evaluated", []) or fired or quiet
    return found | (
        {"tests": only[:1], "untested": f"no case in which it {' or '.join(lacking)}"} if only else {}
    )


def _cause(name: str, rounds: list[Json]) -> Json:
    scenario_ids = sorted(key for key, one in scenarios().items() if one.causes == (name,))
    mine = [one for one in rounds if one["scenario"] in scenario_ids]
    if not scenario_ids:
        return {
            "promise": name,
            "untested": "nothing in the lab can bring it about; it is named as possible only",
        }
    return {"promise": name} | _scored(mine, scenario_ids)


def _fault(name: str, rounds: list[Json]) -> Json:
    kind = scenarios()[name].kind
    return {"promise": f"{name} ({kind})"} | _scored(
        [one for one in rounds if one["scenario"] == name], [name]
    )


def _scored(rounds: list[Json], names: list[str]) -> Json:
    """A command with its figure where all went right, else why it counts as untested; nothing where it never ran."""
    ran = [one for one in rounds if not one["error"]]
    if not ran:
        return {"untested": rounds[0]["error"]} if rounds else {}
    good = [one for one in ran if _right(one)]
    figure = f"{len(good)} of {len(ran)} rounds right"
    command = f"{COMMAND} {' '.join(names)}"
    return (
        {"command": command, "figure": figure}
        if len(good) == len(ran)
        else {"untested": f"`{command}`: {figure}"}
    )


def _right(one: Json) -> bool:
    named = one["named"]
    first = bool(named) and named[0][0] in one["truth"] if one["truth"] else True
    return first and not any(sure == "likely" and name not in one["truth"] for name, sure in named)


if __name__ == "__main__":
    json.dump(promises(), sys.stdout, indent=1)
