"""Measure the accuracy of diagnoses: real faults on hosts of the lab, diagnosed over SSH by a real platform.

    ./culprit bench score [--set lab|real] [--only ID ...] [--kinds KIND ...] [--rounds N] [--seed N] [--healthy N]
                          [--stacked N] [--distractors N] [--baseline] [--twice] [--save FILE [--add | --render]]
                          [--corpus DIR] [--table FILE] [--home DIR]

Every round starts a healthy host, injects the fault with random parameters, requests `POST /diagnoses`, and compares
the answer with the causes that the scenario declares. Order and parameters come from the seed, which is printed. With
`--baseline`, the host is also captured before the fault, as with scheduled captures. A cause is wrong if it is named
`likely` and is not declared. Every cited number is reproduced from the bytes of its artifact by the parsers alone. Null
models (bench/accuracy/null_models.py) answer without knowledge of causes. `--corpus` stores the redacted captures of
each round for `./culprit bench replay`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from xml.etree import ElementTree

from culprit.domain.rules.evaluate import evaluate_rules
from culprit.domain.rules.registry import CAUSES, RULES
from culprit.json_types import Json
from culprit.launcher.paths import ROOT

from bench.accuracy.corpus import StoredRound, write_round
from bench.accuracy.corpus_redaction import list_private_names, redact_run
from bench.accuracy.null_models import name_causes
from bench.accuracy.rounds import KINDS, Round, describe_round, find_first_right, load_round, record_round
from bench.accuracy.score_client import PlatformClient
from bench.accuracy.score_table import render_markdown
from bench.support.platforms import purge_data, run_platform, stop_on_term
from lab.cgroups import Group, destroy_groups
from lab.environment import LAB_SHARES, LabEnvironment
from lab.faults import list_missing_programs, load_scenarios
from lab.hosts import LabHost
from lab.load import call_in_healthy_phase
from lab.real import load_real_scenarios
from lab.scenario import Live, Scenario

SCENARIO_SETS = {"lab": load_scenarios, "real": load_real_scenarios}
#: Nearly idle programs, which are no distractors.
IDLE = "idle"
COUNT_OPTIONS = ("sample", "healthy", "stacked", "distractors")


def main() -> int:
    parser = argparse.ArgumentParser(prog="culprit bench score", description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], metavar="ID", help="these scenarios")
    parser.add_argument(
        "--set", default="lab", choices=SCENARIO_SETS, help="programs of the lab, or real software"
    )
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=KINDS)
    parser.add_argument("--rounds", type=int, default=1, help="how often each scenario")
    parser.add_argument("--sample", type=int, default=0, help="only so many rounds, drawn at random")
    parser.add_argument(
        "--healthy", type=int, default=0, help="how often each healthy scenario, if not as the others"
    )
    parser.add_argument("--stacked", type=int, default=0, help="so many rounds with two faults at once")
    parser.add_argument(
        "--distractors",
        type=int,
        default=0,
        help="rounds with a fault and a busy, healthy program on the same host",
    )
    parser.add_argument("--seed", type=int, default=0, help="0 draws one")
    parser.add_argument("--seconds", type=int, default=8, help="of the first stage")
    parser.add_argument("--save", type=Path, help="write the rounds to this JSON file")
    parser.add_argument("--corpus", type=Path, help="store the captures of every round in this folder")
    parser.add_argument("--table", type=Path, help="write the table to this Markdown file")
    parser.add_argument(
        "--add", action="store_true", help="add this batch to those that --save already holds"
    )
    parser.add_argument(
        "--baseline", action="store_true", help="capture the host before the fault too, and compare with that"
    )
    parser.add_argument("--proven", action="store_true", help="only faults that a cause names as its proof")
    parser.add_argument("--no-guests", action="store_true", help="leave out what needs a machine of its own")
    parser.add_argument("--junit", type=Path, help="every round as a test of a JUnit file")
    parser.add_argument("--twice", action="store_true", help="repeat a round that misses once, and mark it")
    parser.add_argument("--home", type=Path, help="of a platform that is running already")
    parser.add_argument(
        "--render", action="store_true", help="play nothing; write the table of what --save holds"
    )
    options = parser.parse_args()
    if options.render:
        return _write_tables(_load_batches(options.save) if options.save else [], options.table)
    stop_on_term()
    seed = options.seed or random.SystemRandom().randrange(1, 1 << 31)
    print(f"seed {seed}", flush=True)
    todo = _plan_rounds(options, random.Random(seed))
    rounds: list[Round] = []
    batch = {
        "seed": seed, "planned": len(todo), "options": _format_options(options, seed), "rules": digest_rules(),
    }  # fmt: skip
    earlier = _load_batches(options.save) if options.save and options.add else []
    with open_platform(options.home) as platform:
        for number, (chosen, its_seed) in enumerate(todo, 1):
            item = _play_round(platform, chosen, its_seed, options)
            if options.twice and not item.is_correct:
                print(f"{number}/{len(todo)} {describe_round(item)}; once more", flush=True)
                item = _play_round(platform, chosen, its_seed, options)
            rounds.append(item)
            print(f"{number}/{len(todo)} {describe_round(item)}", flush=True)
            if options.save:
                batches = [*earlier, {**batch, "rounds": [asdict(each) for each in rounds]}]
                options.save.write_text(json.dumps({"batches": batches}, indent=1))
    if options.junit:
        options.junit.write_text(build_junit(rounds, seed))
    _write_tables([*earlier, {**batch, "rounds": [asdict(each) for each in rounds]}], options.table)
    return 0 if rounds and all(item.is_correct for item in rounds) else 1


def _write_tables(batches: Sequence[Json], table: Path | None) -> int:
    """Print the tables of batches, and write them to a file. Return 1 if there is no batch."""
    text = render_markdown(
        [
            {**batch, "rounds": [record_round(load_round(each)) for each in batch["rounds"]]}
            for batch in batches
        ],
        digest_rules(),
    )
    print(text)
    if table:
        table.write_text(text)
    return 0 if batches else 1


def _format_options(options: argparse.Namespace, seed: int) -> str:
    """Return the options that select the rounds, as command line arguments."""
    lists = {
        "set": [options.set] if options.set != "lab" else [],
        "only": options.only,
        "kinds": options.kinds if options.kinds != list(KINDS) else [],
        "rounds": [options.rounds] if options.rounds > 1 else [],
        **{name: [getattr(options, name)] for name in COUNT_OPTIONS if getattr(options, name)},
    }
    return f"--seed {seed}{' --baseline' if options.baseline else ''}" + "".join(
        f" --{name} {' '.join(map(str, item))}" for name, item in lists.items() if item
    )


def _load_batches(path: Path) -> list[Json]:
    """Return the earlier batches in the file."""
    return list(json.loads(path.read_text())["batches"]) if path.exists() else []


def _plan_rounds(options: argparse.Namespace, rng: random.Random) -> list[tuple[list[Scenario], int]]:
    known: dict[str, Scenario] = {}
    for name, item in SCENARIO_SETS[options.set]().items():
        if missing := list_missing_programs(item):
            print(f"skipped {name}: no {', '.join(missing)}", flush=True)
        else:
            known[name] = item
    chosen = [
        item
        for name, item in known.items()
        if item.kind in options.kinds
        and (not options.only or name in options.only)
        and not (options.no_guests and item.own_host)
        and (not options.proven or any(name in cause.proven_by for cause in CAUSES.values()))
    ]
    todo = [([item], rng.randrange(1 << 31)) for item in chosen for _ in range(_count_rounds(item, options))]
    if options.sample:
        rng.shuffle(todo)
        todo = todo[: options.sample]
    faults = [item for item in known.values() if item.kind == "fault" and not item.own_host]
    for _ in range(options.stacked):
        first, second = rng.sample(faults, 2)
        while set(first.global_effect) & set(second.global_effect) or first.family == second.family:
            first, second = rng.sample(faults, 2)
        todo.append(([first, second], rng.randrange(1 << 31)))
    busy = [item for item in known.values() if item.kind == "healthy" and item.id != IDLE]
    for _ in range(options.distractors):
        distractor, fault = rng.choice(busy), rng.choice(faults)
        while set(distractor.global_effect) & set(fault.global_effect):
            distractor, fault = rng.choice(busy), rng.choice(faults)
        todo.append(([distractor, fault], rng.randrange(1 << 31)))
    rng.shuffle(todo)
    return todo


def _count_rounds(scenario: Scenario, options: argparse.Namespace) -> int:
    return int(options.healthy if scenario.kind == "healthy" and options.healthy else options.rounds)


def _get_kind(chosen: Sequence[Scenario]) -> str:
    if len(chosen) == 1:
        return chosen[0].kind
    return "stacked" if all(item.causes for item in chosen) else "distractor"


@contextmanager
def open_platform(home: Path | None) -> Iterator[PlatformClient]:
    """Yield the platform of `home`, or start one for this measurement."""
    if home is not None:
        message = json.loads((home / "running.json").read_text())
        token = json.loads((home / "cli.json").read_text())["token"]
        yield PlatformClient(message["url"], token)
        return
    with tempfile.TemporaryDirectory(prefix="culprit-score-") as folder:
        place = Path(folder) / "home"
        # In production the platform is on another machine. Here its group weighs as much as the lab, so that a fault
        # that uses all CPUs does not delay the diagnosis.
        group = Group(f"/platform-{os.getpid()}")
        try:
            group.create().weigh(LAB_SHARES)
            with run_platform(
                ROOT, place, Path(folder) / "up.log", 300, prefix=group.join_command()
            ) as message:
                token = json.loads((place / "cli.json").read_text())["token"]
                yield PlatformClient(message["url"], token)
        finally:
            destroy_groups(group.directories)
            purge_data(ROOT, place)


def _play_round(
    platform: PlatformClient, chosen: Sequence[Scenario], seed: int, options: argparse.Namespace
) -> Round:
    truth = sorted({cause for item in chosen for cause in item.causes})
    software = sorted({name for item in chosen for name in item.software})
    done = Round("+".join(item.id for item in chosen), _get_kind(chosen), seed, truth, software=software)
    try:
        with ExitStack() as stack:
            _diagnose_scenarios(platform, stack, chosen, done, options)
    except Exception as error:  # noqa: BLE001 - a broken round is a result, and the others go on
        done.error = f"{type(error).__name__}: {error}"[:300]
    return done


def _diagnose_scenarios(
    platform: PlatformClient,
    stack: ExitStack,
    chosen: Sequence[Scenario],
    done: Round,
    options: argparse.Namespace,
) -> None:
    environment = stack.enter_context(LabEnvironment(max_s=300 if options.baseline else 240))
    rng = random.Random(done.seed)
    name = f"lab-{done.seed}-{done.scenario[:40].replace('+', '.')}"
    host_id, baseline = "", "auto"

    def add_host(host: LabHost) -> str:
        added = platform.add_host(host, name)
        stack.callback(platform.delete_quietly, f"/hosts/{added}")
        return added

    def capture_baseline() -> None:
        nonlocal host_id, baseline
        host_id = add_host(environment.host)
        baseline = platform.capture_baseline(host_id, options.seconds)

    with call_in_healthy_phase(capture_baseline) if options.baseline else nullcontext():
        lives: list[Live] = [stack.enter_context(item.run(environment, rng)) for item in chosen]
    done.parameters = {
        name: value for live in lives for name, value in live.parameters.items() if name != "healthy"
    }
    began = time.monotonic()
    if not host_id or lives[-1].host is not environment.host:
        host_id, baseline = add_host(lives[-1].host), "auto"
    if lives[-1].access_log:
        stack.callback(
            platform.delete_quietly, f"/services/{platform.declare_service(name, lives[-1].access_log)}"
        )
    time.sleep(max(0.0, max(item.seconds for item in chosen) - (time.monotonic() - began)))
    done.scope = lives[0].scope if len(lives) == 1 else {}
    answer = platform.diagnose(host_id, done.scope, options.seconds, baseline)
    done.client_stats = {name: value for live in lives for name, value in live.stats().items()}
    done.seconds = answer["elapsed_s"]
    if answer["state"] != "done":
        done.error = json.dumps(answer["failure"])
        return
    result = answer["result"]
    done.named = [(cause["id"], cause["confidence"]) for cause in result["causes"]]
    done.first_right_s = find_first_right(answer["stages"], done.truth)
    done.harmed, done.unexplained_pct = bool(result.get("harm")), result.get("unexplained_pct")
    done.evaluated_ms = [finding["elapsed_ms"] for finding in platform.list_findings(result["runs"])]
    stored = [platform.download(run) for run in result["runs"]]
    before = None if baseline == "auto" else platform.download(baseline)
    view = StoredRound({}, stored, before).parse()
    done.nulls = name_causes(evaluate_rules(RULES.values(), view), RULES, view)
    check = platform.check_numbers(result, stored, view)
    done.cited, done.grounded, done.ungrounded = check.cited, check.reproduced, check.failures
    if options.corpus:
        names = list_private_names()
        redacted = [redact_run(run, names) for run in stored]
        archive = StoredRound(asdict(done), redacted, before and redact_run(before, names))
        write_round(options.corpus / f"{done.scenario}-{done.seed}.tar.zst", archive)


def build_junit(rounds: Sequence[Round], seed: int) -> str:
    """Return a JUnit report with a test for each round, which fails if the round is not correct."""
    suite = ElementTree.Element("testsuite", name=f"score, seed {seed}", tests=str(len(rounds)))
    for item in rounds:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname="bench.accuracy.score",
            name=f"{item.scenario}[seed {item.seed}]",
            time=f"{item.seconds}",
        )
        if not item.is_correct:
            ElementTree.SubElement(case, "failure", message=describe_round(item))
    return ElementTree.tostring(suite, encoding="unicode")


def digest_rules() -> str:
    """Return a digest of everything that decides an answer: rules, measures, causes and parsers. Tests do not count."""
    digest = hashlib.sha256()
    for folder in (ROOT / "backend/culprit/domain/rules", ROOT / "collectors"):
        for path in sorted(folder.rglob("*.py")):
            if "tests" not in path.parts:
                digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


if __name__ == "__main__":
    sys.exit(main())
