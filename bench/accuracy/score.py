"""How often the right cause is named: real faults on hosts of the lab, diagnosed over SSH by a real platform.

    python -m bench.score [--only ID ...] [--kinds fault blind lookalike healthy] [--rounds N] [--seed N]
                          [--healthy N] [--stacked N] [--herrings N] [--twice] [--save FILE [--add]]
                          [--home DIR]

Every round starts a host, lets it run healthy, makes it sick with parameters drawn at random, asks
`POST /diagnoses`, and compares the answer with what the scenario declares. Order and parameters come from the seed,
which is printed. A wrong cause is one that is named `likely` and is not declared. Every cited number is read again
from the bytes of its artifact, by the parsers alone. The null model names the cause of whichever number is furthest
beyond its threshold.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from culprit.core.rules.registry import CAUSES, RULES
from culprit.launch.paths import ROOT

from bench.platforms import purge, running, stop_on_term
from bench.score_client import Platform
from bench.score_table import markdown
from e2e.lab.faults import missing, scenarios
from e2e.lab.scenario import Live, Scenario
from e2e.lab.site import Site

Json = dict[str, Any]
KINDS = ("fault", "blind", "lookalike", "healthy")
#: Next to nothing to do: distracts from nothing.
IDLE = "idle"
COUNTS = ("sample", "healthy", "stacked", "herrings")


@dataclass(slots=True)
class Round:
    """One diagnosis of one known illness. `error` says what kept it from being one.

    `evaluated_ms`: how long all rules took, for each capture of the diagnosis.
    """

    scenario: str
    kind: str
    seed: int
    truth: list[str]
    parameters: Json = field(default_factory=dict)
    named: list[tuple[str, str]] = field(default_factory=list)
    null: str = ""
    seconds: float = 0.0
    cited: int = 0
    grounded: int = 0
    ungrounded: list[str] = field(default_factory=list)
    hurt: Json = field(default_factory=dict)
    evaluated_ms: list[float] = field(default_factory=list)
    error: str = ""

    @property
    def top1(self) -> bool:
        """The first cause is a true one; on a healthy host, nothing is named likely."""
        if not self.truth:
            return not self.wrong
        return bool(self.named) and self.named[0][0] in self.truth

    @property
    def top3(self) -> bool:
        """One of the first three is a true one."""
        return any(name in self.truth for name, _ in self.named[:3]) if self.truth else not self.wrong

    @property
    def all_found(self) -> bool:
        """Every true cause is among those named."""
        return set(self.truth) <= {name for name, _ in self.named}

    @property
    def good(self) -> bool:
        """The right cause first, no wrong one beside it, every number found again."""
        return self.top1 and not (self.wrong or self.error or self.ungrounded)

    @property
    def wrong(self) -> list[str]:
        """Causes that were named likely and are not there."""
        return [name for name, confidence in self.named if confidence == "likely" and name not in self.truth]


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.score", description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], metavar="ID", help="these scenarios")
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=KINDS)
    parser.add_argument("--rounds", type=int, default=1, help="how often each scenario")
    parser.add_argument("--sample", type=int, default=0, help="only so many rounds, drawn at random")
    parser.add_argument(
        "--healthy", type=int, default=0, help="how often each healthy scenario, if not as the others"
    )
    parser.add_argument("--stacked", type=int, default=0, help="so many rounds with two faults at once")
    parser.add_argument(
        "--herrings",
        type=int,
        default=0,
        help="so many rounds with a fault beside busy health on the same host",
    )
    parser.add_argument("--seed", type=int, default=0, help="0 draws one")
    parser.add_argument("--seconds", type=int, default=8, help="of the first stage")
    parser.add_argument("--save", type=Path, help="the rounds as JSON; the table beside it as .md")
    parser.add_argument("--add", action="store_true", help="to what --save holds already, as one more play")
    parser.add_argument("--proven", action="store_true", help="only faults that a cause names as its proof")
    parser.add_argument("--no-guests", action="store_true", help="leave out what needs a machine of its own")
    parser.add_argument("--junit", type=Path, help="every round as a test of a JUnit file")
    parser.add_argument(
        "--twice", action="store_true", help="a round that misses is played once more, and says so"
    )
    parser.add_argument("--home", type=Path, help="of a platform that is running already")
    options = parser.parse_args()
    stop_on_term()
    seed = options.seed or random.SystemRandom().randrange(1, 1 << 31)
    print(f"seed {seed}", flush=True)
    todo = _plan(options, random.Random(seed))
    rounds: list[Round] = []
    play = {"seed": seed, "planned": len(todo), "asked": _asked(options, seed)}
    earlier = _plays(options.save) if options.save and options.add else []
    with _platform(options.home) as platform:
        for number, (chosen, its_seed) in enumerate(todo, 1):
            one = _round(platform, chosen, its_seed, options.seconds)
            if options.twice and not one.good:
                print(f"{number}/{len(todo)} {_line(one)}; once more", flush=True)
                one = _round(platform, chosen, its_seed, options.seconds)
            rounds.append(one)
            print(f"{number}/{len(todo)} {_line(one)}", flush=True)
            if options.save:
                plays = [*earlier, {**play, "rounds": [asdict(each) for each in rounds]}]
                options.save.write_text(json.dumps({"plays": plays}, indent=1))
    if options.junit:
        options.junit.write_text(junit(rounds, seed))
    plays = [*earlier, {**play, "rounds": [asdict(each) for each in rounds]}]
    text = markdown([{**one, "rounds": [_record(each) for each in one["rounds"]]} for one in plays])
    print(text)
    if options.save:
        options.save.with_suffix(".md").write_text(text)
    return 0 if rounds and all(one.good for one in rounds) else 1


def _asked(options: argparse.Namespace, seed: int) -> str:
    """The options that decide what is played."""
    lists = {
        "only": options.only,
        "kinds": options.kinds if options.kinds != list(KINDS) else [],
        "rounds": [options.rounds] if options.rounds > 1 else [],
        **{name: [getattr(options, name)] for name in COUNTS if getattr(options, name)},
    }
    return f"--seed {seed}" + "".join(
        f" --{name} {' '.join(map(str, one))}" for name, one in lists.items() if one
    )


def _plays(path: Path) -> list[Json]:
    """What earlier plays left in the file."""
    return list(json.loads(path.read_text())["plays"]) if path.exists() else []


def _plan(options: argparse.Namespace, rng: random.Random) -> list[tuple[list[Scenario], int]]:
    known = {name: one for name, one in scenarios().items() if not missing(one)}
    for name, one in scenarios().items():
        if name not in known:
            print(f"skipped {name}: no {', '.join(missing(one))}", flush=True)
    chosen = [
        one
        for name, one in known.items()
        if one.kind in options.kinds
        and (not options.only or name in options.only)
        and not (options.no_guests and one.own_host)
        and (not options.proven or any(name in cause.proven_by for cause in CAUSES.values()))
    ]
    todo = [([one], rng.randrange(1 << 31)) for one in chosen for _ in range(_times(one, options))]
    if options.sample:
        rng.shuffle(todo)
        todo = todo[: options.sample]
    faults = [one for one in known.values() if one.kind == "fault" and not one.own_host]
    for _ in range(options.stacked):
        first, second = rng.sample(faults, 2)
        while set(first.global_effect) & set(second.global_effect) or first.family == second.family:
            first, second = rng.sample(faults, 2)
        todo.append(([first, second], rng.randrange(1 << 31)))
    busy = [one for one in known.values() if one.kind == "healthy" and one.id != IDLE]
    for _ in range(options.herrings):
        herring, fault = rng.choice(busy), rng.choice(faults)
        while set(herring.global_effect) & set(fault.global_effect):
            herring, fault = rng.choice(busy), rng.choice(faults)
        todo.append(([herring, fault], rng.randrange(1 << 31)))
    rng.shuffle(todo)
    return todo


def _times(one: Scenario, options: argparse.Namespace) -> int:
    return int(options.healthy if one.kind == "healthy" and options.healthy else options.rounds)


def _kind(chosen: Sequence[Scenario]) -> str:
    if len(chosen) == 1:
        return chosen[0].kind
    return "stacked" if all(one.causes for one in chosen) else "herring"


@contextmanager
def _platform(home: Path | None) -> Iterator[Platform]:
    if home is not None:
        said = json.loads((home / "running.json").read_text())
        token = json.loads((home / "cli.json").read_text())["token"]
        yield Platform(said["url"], token)
        return
    with tempfile.TemporaryDirectory(prefix="culprit-score-") as folder:
        place = Path(folder) / "home"
        try:
            with running(ROOT, place, Path(folder) / "up.log", 300) as said:
                token = json.loads((place / "cli.json").read_text())["token"]
                yield Platform(said["url"], token)
        finally:
            purge(ROOT, place)


def _round(platform: Platform, chosen: Sequence[Scenario], seed: int, seconds: int) -> Round:
    truth = sorted({cause for one in chosen for cause in one.causes})
    done = Round("+".join(one.id for one in chosen), _kind(chosen), seed, truth)
    try:
        with ExitStack() as stack:
            _diagnosed(platform, stack, chosen, done, seconds)
    except Exception as error:  # noqa: BLE001 - a broken round is a result, and the others go on
        done.error = f"{type(error).__name__}: {error}"[:300]
    return done


def _diagnosed(
    platform: Platform, stack: ExitStack, chosen: Sequence[Scenario], done: Round, seconds: int
) -> None:
    site = stack.enter_context(Site(max_s=240))
    rng = random.Random(done.seed)
    lives: list[Live] = [stack.enter_context(one.run(site, rng)) for one in chosen]
    done.parameters = {
        name: value for live in lives for name, value in live.parameters.items() if name != "healthy"
    }
    began = time.monotonic()
    name = f"lab-{done.seed}-{done.scenario[:40].replace('+', '.')}"
    host_id = platform.enrol(lives[-1].host, name)
    stack.callback(platform.retire, f"/hosts/{host_id}")
    if lives[-1].access_log:
        stack.callback(platform.retire, f"/services/{platform.declare(name, lives[-1].access_log)}")
    time.sleep(max(0.0, max(one.seconds for one in chosen) - (time.monotonic() - began)))
    scope = lives[0].scope if len(lives) == 1 else {}
    answer = platform.diagnose(host_id, scope, seconds)
    done.hurt = {name: value for live in lives for name, value in live.stats().items()}
    done.seconds = answer["elapsed_s"]
    if answer["state"] != "done":
        done.error = json.dumps(answer["failure"])
        return
    result = answer["result"]
    done.named = [(one["id"], one["confidence"]) for one in result["causes"]]
    findings = platform.findings(result["runs"])
    done.evaluated_ms = [one["elapsed_ms"] for one in findings]
    done.null = platform.null_model(findings, RULES)
    ground = platform.ground(result)
    done.cited, done.grounded, done.ungrounded = ground.cited, ground.good, ground.bad


def _line(one: Round) -> str:
    mark = "ok  " if one.good else "MISS"
    named = " ".join(f"{name}({confidence[0]})" for name, confidence in one.named) or "-"
    bad = f" ungrounded: {one.ungrounded[:3]}" if one.ungrounded else ""
    return (
        f"{mark} {one.scenario:34} {one.seconds:5.1f} s  truth {' '.join(one.truth) or '-':28} named {named}"
        f"  null {one.null or '-'}  cited {one.grounded}/{one.cited}{bad} {one.error}"
    )


def junit(rounds: Sequence[Round], seed: int) -> str:
    """Every round as a test: failed where the first cause is wrong, a wrong one is likely, or nothing was grounded."""
    suite = ElementTree.Element("testsuite", name=f"score, seed {seed}", tests=str(len(rounds)))
    for one in rounds:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname="bench.score",
            name=f"{one.scenario}[seed {one.seed}]",
            time=f"{one.seconds}",
        )
        if not one.good:
            ElementTree.SubElement(case, "failure", message=_line(one))
    return ElementTree.tostring(suite, encoding="unicode")


def _record(stored: Json) -> Json:
    one = Round(**stored)
    return stored | {
        "top1": one.top1, "top3": one.top3, "wrong": one.wrong, "all_found": one.all_found,
        "null_right": one.null in one.truth if one.truth else not one.null,
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
