"""Measure the judgment of verifications on real software: with a fault, without it, and unchanged.

    ./culprit bench verify_real [--only ID ...] [--rounds N] [--turns N] [--windows N] [--pause S] [--seed N]
                                [--minutes N] [--platform plain|alternating] [--save FILE] [--new] [--render]

Each start of a scenario of lab/real, of those with a fault that can be repaired and injected again, is measured in
turns: unhealthy, healthy, unhealthy, healthy. A window is a capture of 15 s over SSH by a platform, with the collectors
of the judged numbers. Windows of one turn are compared with each other: nothing was changed, so `verified` and `worse`
are false. Windows of two turns are compared where the fault was removed or added in between.

Two numbers are judged by the code of the platform: what a user would select for the harm that the clients measured
(median or p99 of the response time, failed share, of the access log), and that of the hypothesis of the true cause. A
change counts where the clients measure at least the harm that a fault must show.

The platform waits 30 s after a fix and 10 or 50 s between captures. Here the waits are those of the scenario and
`--pause`: with those of the platform, a pair would take about ten minutes. `--platform` plays one such complete
verification for each start instead, and judges its windows here again.

Starts are written to `--save` one by one. A later call plays what is missing there: scenarios that broke or stopped
early, or more with a greater `--rounds`. SIGTERM loses the start that is being played, `--minutes` only its last turn.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import pkgutil
import random
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path

from culprit.launcher.paths import ROOT

from bench.accuracy.score import open_platform
from bench.accuracy.score_client import PlatformClient
from bench.support.platforms import stop_on_term
from bench.verification import pairs
from bench.verification.capture import (
    HostCapture,
    capture_window,
    list_cause_numbers,
    verify_by_platform,
)
from bench.verification.judge import build_pair, judge_cause, judge_role, judge_sides
from bench.verification.pairs import Phase, PlayedStart
from lab.environment import LabEnvironment
from lab.faults import list_missing_programs
from lab.real import development
from lab.scenario import Live, Scenario

RESULTS_FILE = ROOT / "bench" / "results" / "verify_real.json"
JUDGING_FOLDERS = (
    "backend/culprit/domain/verification", "backend/culprit/domain/statistics", "backend/culprit/jobs/verification",
)  # fmt: skip
#: Captures of a turn, so that its halves are observed for 9.2 times the gap between them: a capture can hold only two
#: readings of the log, 5 s apart, and the next one begins 18 s after it or later.
WINDOW_COUNT = 14
#: Captures of a window that may fail in one turn.
MAX_FAILED_CAPTURES = 2
MAX_S = 3600.0


class TimeOverError(Exception):
    """The time that the user allowed is over."""


def main() -> int:
    """Play the starts and print the table. Return 1 if no pair was judged."""
    options = _parse_options()
    earlier = [] if options.new else _load_starts(options.save)
    code = digest_code()
    if options.render:
        print(pairs.render_table(earlier, code))
        return 0 if earlier else 1
    stop_on_term()
    end = time.monotonic() + 60 * options.minutes if options.minutes else float("inf")
    seed = options.seed or random.SystemRandom().randrange(1, 1 << 31)
    print(f"seed {seed}", flush=True)
    starts = list(earlier)
    todo = _plan_starts(options, seed, earlier)
    with open_platform(options.home) as platform:
        for number, (scenario, its_seed) in enumerate(todo, 1):
            if time.monotonic() > end:
                print(f"{len(todo) - number + 1} starts were not played: the time is over", flush=True)
                break
            print(f"{number}/{len(todo)} {scenario.id}, seed {its_seed}", flush=True)
            start = play_start(platform, scenario, its_seed, options, end)
            start.code = code
            starts.append(start)
            print(describe_start(start), flush=True)
            _store_starts(options.save, starts)
    print(f"\n{pairs.render_table(starts, code)}")
    return 0 if any(start.pairs for start in starts) else 1


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="culprit bench verify_real",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", nargs="*", default=[], metavar="ID", help="these scenarios")
    parser.add_argument("--rounds", type=int, default=1, help="how often each scenario")
    parser.add_argument(
        "--turns", type=int, default=4, choices=(1, 2, 3, 4), help="unhealthy, healthy, unhealthy, healthy"
    )
    parser.add_argument("--windows", type=int, default=WINDOW_COUNT, help="captures of one turn")
    parser.add_argument("--seconds", type=int, default=15, help="of a capture")
    parser.add_argument("--pause", type=float, default=2.0, help="seconds between captures")
    parser.add_argument("--seed", type=int, default=0, help="0 draws one")
    parser.add_argument(
        "--minutes",
        type=float,
        default=0,
        help="stop after this time, without the turn that is measured then; 0 is no limit",
    )
    parser.add_argument(
        "--platform",
        choices=("plain", "alternating"),
        help="one complete verification for each start instead",
    )
    parser.add_argument("--save", type=Path, default=RESULTS_FILE, help="write the starts to this JSON file")
    parser.add_argument("--new", action="store_true", help="forget what --save holds")
    parser.add_argument("--render", action="store_true", help="play nothing; print the table of --save")
    parser.add_argument("--home", type=Path, help="of a platform that is running already")
    return parser.parse_args()


def digest_code() -> str:
    """Return a digest of everything that measures and judges windows."""
    digest = hashlib.sha256()
    for folder in JUDGING_FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def load_repairable_scenarios() -> dict[str, Scenario]:
    """Return the scenarios whose fault can be repaired and injected again. Those that are held out are not read."""
    modules = sorted(pkgutil.iter_modules(development.__path__), key=lambda module: module.name)
    listed = [
        importlib.import_module(f"{development.__name__}.{module.name}").SCENARIOS for module in modules
    ]
    return {
        scenario.id: scenario
        for scenarios in listed
        for scenario in scenarios
        if scenario.id in development.REPAIRABLE
    }


def _plan_starts(
    options: argparse.Namespace, seed: int, earlier: Sequence[PlayedStart]
) -> list[tuple[Scenario, int]]:
    """List the starts: every scenario once, then again. Starts that `earlier` holds are left out."""
    chosen = []
    for name, scenario in load_repairable_scenarios().items():
        if missing := list_missing_programs(scenario):
            print(f"skipped {name}: no {', '.join(missing)}", flush=True)
        elif not options.only or name in options.only:
            chosen.append(scenario)
    rng = random.Random(seed)
    todo = []
    for number in range(options.rounds):
        rng.shuffle(chosen)
        seeds = [rng.randrange(1 << 31) for _ in chosen]
        todo += [
            (scenario, its_seed)
            for scenario, its_seed in zip(chosen, seeds, strict=True)
            if pairs.count_stored(earlier, scenario.id, by_platform=bool(options.platform)) <= number
        ]
    return todo


def play_start(
    platform: PlatformClient, scenario: Scenario, seed: int, options: argparse.Namespace, end: float
) -> PlayedStart:
    """Play one start. What breaks is stored in it, and the others go on."""
    start = PlayedStart(scenario.id, seed, software=list(scenario.software))
    began = time.monotonic()
    try:
        with ExitStack() as stack:
            if options.platform:
                _play_verification(platform, stack, scenario, start, options)
            else:
                _play_turns(platform, stack, scenario, start, options, end)
    except Exception as error:  # noqa: BLE001 - a broken start is a result, and the others go on
        start.error = f"{type(error).__name__}: {error}"[:300]
        start.pairs = []
    start.seconds = round(time.monotonic() - began, 1)
    return start


@contextmanager
def _run_scenario(scenario: Scenario, start: PlayedStart) -> Iterator[Live]:
    """Start the software with the fault in place, and wait until it shows."""
    with (
        LabEnvironment(max_s=MAX_S) as environment,
        scenario.run(environment, random.Random(start.seed)) as live,
    ):
        start.parameters = {name: value for name, value in live.parameters.items() if name != "healthy"}
        time.sleep(scenario.seconds)
        yield live


def _add_host(platform: PlatformClient, stack: ExitStack, live: Live, start: PlayedStart) -> str:
    name = f"verify-{start.seed}-{start.scenario}"
    host_id = platform.add_host(live.host, name)
    stack.callback(platform.delete_quietly, f"/hosts/{host_id}")
    stack.callback(platform.delete_quietly, f"/services/{platform.declare_service(name, live.access_log)}")
    return host_id


def _play_turns(
    platform: PlatformClient,
    stack: ExitStack,
    scenario: Scenario,
    start: PlayedStart,
    options: argparse.Namespace,
    end: float,
) -> None:
    """Measure the turns, then read their captures and judge the pairs."""
    phases: list[Phase] = []
    causes = list_cause_numbers(scenario.causes)
    with _run_scenario(scenario, start) as live:
        assert live.repair is not None and live.inject is not None
        capture = HostCapture(
            _add_host(platform, stack, live, start), live.scope, options.seconds, [read for read, _ in causes]
        )
        for turn in range(options.turns):
            if turn:
                (live.repair if turn % 2 else live.inject)()
                time.sleep(scenario.seconds)
            try:
                phases.append(_measure_phase(platform, capture, live, turn, options, end))
            except TimeOverError:
                start.stopped = True
                break
        harm = pairs.select_harm_number(_get_healthy_numbers(live), phases[0].clients) if phases else ""
    start.phases = [asdict(phase) for phase in phases]
    views = {run: platform.download(run).parse() for phase in phases for run in phase.runs}
    if phases:
        start.pairs = judge_role(phases, views, "harm", harm, "lower", start)
        start.pairs += judge_cause(phases, views, causes, start)


def _get_healthy_numbers(live: Live) -> Mapping[str, float]:
    healthy = live.parameters["healthy"]
    assert isinstance(healthy, dict)
    return healthy


def _measure_phase(
    platform: PlatformClient,
    capture: HostCapture,
    live: Live,
    turn: int,
    options: argparse.Namespace,
    end: float,
) -> Phase:
    """Measure the windows of a turn. Raises TimeOverError if the time is over before the last one."""
    runs: list[str] = []
    failed = 0
    began = time.monotonic()
    live.mark()
    while len(runs) < options.windows:
        if time.monotonic() > end:
            raise TimeOverError
        if runs or failed:
            time.sleep(options.pause)
        run = capture_window(platform, capture)
        if run is not None:
            runs.append(run)
            continue
        failed += 1
        if failed > MAX_FAILED_CAPTURES:
            raise RuntimeError(f"{failed} captures of turn {turn + 1} failed")
    each_s = (time.monotonic() - began + options.pause) / len(runs)
    print(f"  turn {turn + 1}: {len(runs)} windows, {each_s:.1f} s each with the pause", flush=True)
    return Phase(turn % 2 == 0, runs, live.stats())


def _play_verification(
    platform: PlatformClient,
    stack: ExitStack,
    scenario: Scenario,
    start: PlayedStart,
    options: argparse.Namespace,
) -> None:
    """Let the platform verify one fix completely, and judge its windows here again."""
    with _run_scenario(scenario, start) as live:
        live.mark()
        host_id = _add_host(platform, stack, live, start)
        time.sleep(3.0)
        harm = pairs.select_harm_number(_get_healthy_numbers(live), live.stats())
        clients, judged = verify_by_platform(platform, host_id, live, harm, options.platform)
    runs = {
        side: [item["run"] for item in judged["windows"] if item["side"] == side]
        for side in ("before", "after")
    }
    views = {run: platform.download(run).parse() for side in runs.values() for run in side}
    again = judge_sides(runs["before"], runs["after"], views, harm, "lower")
    start.numbers["harm"] = harm
    start.equal = judged["outcome"] == again["outcome"] and all(
        pairs.is_close(judged[name], again[name]) for name in ("change", "low", "high", "p")
    )
    changed = pairs.REMOVED
    if not pairs.has_harm(clients["after"], clients["before"]):
        changed += pairs.UNHARMED_SUFFIX
    design = pairs.BEFORE_AFTER if options.platform == "plain" else pairs.IN_TURNS
    plan = pairs.PairPlan(f"{design}, by the platform", changed, tuple(runs["before"]), tuple(runs["after"]))
    start.pairs = [build_pair(plan, "harm", harm, judged)]


def describe_start(start: PlayedStart) -> str:
    """Return a line about a start, and a line for each of its pairs."""
    state = start.error or ("stopped early" if start.stopped else "")
    equal = {None: "", True: "  judged alike here", False: "  JUDGED DIFFERENTLY HERE"}[start.equal]
    lines = [f"{start.scenario}, seed {start.seed}: {start.seconds:.0f} s, {start.numbers}  {state}{equal}"]
    for pair in start.pairs:
        mark = "FALSE" if pair.is_false else "miss " if pair.is_missed else "     "
        change = "" if pair.change is None else f"{100 * pair.change:+.0f} %"
        lines.append(
            f"  {mark} {pair.role:5} {pair.design:16} {pair.changed:32} {pair.outcome:13} {change:>8} "
            f"{' '.join(pair.reasons)}"
        )
    return "\n".join(lines)


def _load_starts(path: Path) -> list[PlayedStart]:
    """Return the starts that a file holds; none if it does not exist."""
    stored = json.loads(path.read_text())["starts"] if path.exists() else []
    return [pairs.load_start(item) for item in stored]


def _store_starts(path: Path, starts: Sequence[PlayedStart]) -> None:
    """Write a start into each line."""
    lines = ",\n".join(json.dumps(asdict(start)) for start in starts)
    temporary = path.with_suffix(".new")
    temporary.write_text(f'{{"starts": [\n{lines}\n]}}\n')
    temporary.replace(path)


if __name__ == "__main__":
    sys.exit(main())
