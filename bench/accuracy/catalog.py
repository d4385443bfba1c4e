"""List every collector, rule, cause and fault with its proof, as promises for docs/status.md (JSON on stdout).

    ./culprit bench catalog

A collector is proven by a test that parses a real capture; a rule by a case that it matches and a case that it does not
match; a cause and a fault by rounds of the score (bench/results/score.json) in which the cause was named first, without
a wrong cause.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

import yaml
from culprit.domain.rules.registry import CAUSES, RULES
from culprit.json_types import Json
from culprit.launcher.paths import ROOT

from collectors.registry import COLLECTORS
from collectors.tests.fixture_files import fixture_folder
from lab.faults import load_scenarios
from lab.real import load_real_scenarios

SCORE = ROOT / "bench" / "results" / "score.json"
GOLDEN = "collectors/tests/catalog/test_collectors.py::test_golden"
STEPS = "backend/culprit/tests/domain/rules/test_seeds.py::test_the_figure_of_the_case_study"
COMMAND = "./culprit bench score --only"


def build_promises() -> dict[str, list[Json]]:
    """Return the sections in the format of docs/promises.yaml."""
    rounds = select_latest_rounds(json.loads(SCORE.read_text())["batches"]) if SCORE.exists() else []
    return {
        "Collectors": [_build_collector_promise(name) for name in sorted(COLLECTORS)],
        "Rules": _build_rule_promises(),
        "Causes": [_build_cause_promise(name, rounds) for name in sorted(CAUSES)],
        "Faults": [_build_fault_promise(name, rounds) for name in sorted(load_scenarios())],
    }


def select_latest_rounds(batches: list[Json]) -> list[Json]:
    """Return the rounds of each scenario in the last batch that has it."""
    last = {item["scenario"]: at for at, batch in enumerate(batches) for item in batch["rounds"]}
    return [
        item for at, batch in enumerate(batches) for item in batch["rounds"] if last[item["scenario"]] == at
    ]


def _build_collector_promise(name: str) -> Json:
    cases = sorted(item.parent.name for item in fixture_folder(name).glob("*/how.json"))
    synthetic = [case for case in cases if _load_fixture_info(fixture_folder(name) / case).get("synthetic")]
    real = [case for case in cases if case not in synthetic]
    results: Json = {"promise": name}
    if real:
        return results | {"tests": [f"{GOLDEN}[{name}/{item}]" for item in real]}
    why = "; ".join(str(_load_fixture_info(fixture_folder(name) / case)["synthetic"]) for case in synthetic)
    return results | ({"untested": why} if why else {})


def _load_fixture_info(folder: Path) -> Json:
    return dict(json.loads((folder / "how.json").read_text()))


def _build_rule_promises() -> list[Json]:
    states: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for file in sorted((ROOT / "backend/culprit/tests/domain/rules").glob("[cs]*/*.yaml")):
        for step in yaml.safe_load(file.read_text()):
            if {"parts", "fixture", "reports"} & step.keys():
                name = f"{STEPS}[{step['rule']}/{file.stem}/{step['step']}]"
                states[step["rule"]][step["state"]].append(name)
                if "after" in step:
                    states[step["rule"]]["not_matched"].append(name)
    return [_build_rule_promise(name, states[name]) for name in sorted(RULES)]


def _build_rule_promise(name: str, states: dict[str, list[str]]) -> Json:
    matched, not_matched = states.get("matched", []), states.get("not_matched", [])
    results: Json = {"promise": f"{name} ({RULES[name].strength})"}
    if matched and not_matched:
        return results | {"tests": [matched[0], not_matched[0]]}
    lacking = [what for what, cases in (("fires", matched), ("does not match", not_matched)) if not cases]
    only = states.get("inconclusive", []) or states.get("not_evaluated", []) or matched or not_matched
    return results | (
        {"tests": only[:1], "untested": f"no case in which it {' or '.join(lacking)}"} if only else {}
    )


def _build_cause_promise(name: str, rounds: list[Json]) -> Json:
    """Return the promise of a cause, proven by the rounds of its faults.

    If a fault has two right causes, a round proves the cause that was named.
    """
    scenarios = {**load_scenarios(), **load_real_scenarios()}
    scenario_ids = sorted(key for key, item in scenarios.items() if name in item.causes)
    cause_rounds = [
        item
        for item in rounds
        if item["scenario"] in scenario_ids and _get_first(item) in {name, *_list_wrong(item)}
    ]
    if not scenario_ids:
        return {
            "promise": name,
            "untested": "nothing in the lab can bring it about; it is named as possible only",
        }
    return {"promise": name} | _build_score_promise(cause_rounds, scenario_ids)


def _build_fault_promise(name: str, rounds: list[Json]) -> Json:
    kind = load_scenarios()[name].kind
    return {"promise": f"{name} ({kind})"} | _build_score_promise(
        [item for item in rounds if item["scenario"] == name], [name]
    )


def _build_score_promise(rounds: list[Json], names: list[str]) -> Json:
    """Return the command and its figure if all rounds are right, else why it is untested; {} without rounds."""
    ran = [item for item in rounds if not item["error"]]
    if not ran:
        return {"untested": rounds[0]["error"]} if rounds else {}
    good = [item for item in ran if _is_right(item)]
    figure = f"{len(good)} of {len(ran)} rounds right"
    command = f"{COMMAND} {' '.join(names)}"
    return (
        {"command": command, "figure": figure}
        if len(good) == len(ran)
        else {"untested": f"`{command}`: {figure}"}
    )


def _get_first(item: Json) -> str:
    return item["named"][0][0] if item["named"] else ""


def _list_wrong(item: Json) -> set[str]:
    """Return the first named cause of a round if it is wrong; empty if it is right."""
    return {_get_first(item)} - set(item["truth"])


def _is_right(item: Json) -> bool:
    named = item["named"]
    first = _get_first(item) in item["truth"] if item["truth"] else True
    return first and not any(sure == "likely" and name not in item["truth"] for name, sure in named)


if __name__ == "__main__":
    json.dump(build_promises(), sys.stdout, indent=1)
