"""Measure the accuracy of the rules over the corpus of stored captures, without a host.

    ./culprit bench replay [--corpus DIR] [--kinds KIND ...] [--only TEXT] [--table FILE] [--workers N]
                           [--without-truth]

Each round has the captures of all stages of the original diagnosis. The current parsers and rules process them again.
Data of newer collectors is missing, so a replay can be worse than a new round. docs/corpus.md describes the format.

With `--without-truth`, the true causes of each faulty round are removed from the catalog. A likely cause is then wrong,
unless it is a consequence of them (see `unknown_causes`).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from culprit.domain.rules.evaluate import evaluate_rules
from culprit.domain.rules.measures.service_time.accounts import read_service_times
from culprit.domain.rules.ranking.rank import rank_causes
from culprit.domain.rules.registry import CAUSES, RULES
from culprit.domain.rules.view import HostView
from culprit.launcher.paths import ROOT

from bench.accuracy.corpus import read_round
from bench.accuracy.null_models import name_causes
from bench.accuracy.rounds import KINDS, Round, describe_round, load_round, record_round
from bench.accuracy.score_table import render_tables
from bench.accuracy.unknown_causes import UnknownCauseAnswer, answer_without_truth, render_unknown_causes

CORPUS = ROOT / "bench" / "corpus"
#: The causes that the rules name in every round. A test compares them, so that a change of rules shows its effect.
ANSWERS = "answers.json"
Answer = TypeVar("Answer")


def main() -> int:
    """Print a line for each round and the tables. Return 1 if the corpus holds no such round."""
    parser = argparse.ArgumentParser(prog="culprit bench replay", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=KINDS)
    parser.add_argument("--only", default="", help="rounds whose file name contains this")
    parser.add_argument("--table", type=Path, help="write the tables to this Markdown file")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--save", action="store_true", help=f"write the answers to {ANSWERS} of the corpus")
    parser.add_argument(
        "--without-truth", action="store_true", help="take the true causes of each round out of the catalog"
    )
    options = parser.parse_args()
    if options.without_truth and options.save:
        parser.error(
            f"{ANSWERS} holds the answers of the whole catalog. Use either --save or --without-truth."
        )
    began = time.monotonic()
    if options.without_truth:
        return _print_unknown_causes(options)
    rounds = replay_corpus(options.corpus, options.workers, options.only)
    rounds = [item for item in rounds if item.kind in options.kinds]
    for item in rounds:
        print(describe_round(item))
    text = "\n".join(render_tables([record_round(item) for item in rounds]))
    print(f"\n{text}\n\n{len(rounds)} rounds in {time.monotonic() - began:.1f} s")
    if options.save:
        (options.corpus / ANSWERS).write_text(format_answers(rounds))
    if options.table:
        options.table.write_text(text + "\n")
    return 0 if rounds else 1


def replay_corpus(folder: Path, workers: int = 1, only: str = "") -> list[Round]:
    """Return all rounds of a corpus whose file name contains `only`, answered again, in order of their names."""
    return _answer_files(replay_round, folder, workers, only)


def replay_without_truth(
    folder: Path, workers: int = 1, only: str = "", kinds: Sequence[str] = KINDS
) -> list[tuple[Round, UnknownCauseAnswer]]:
    """Return all faulty rounds of these kinds, each with what is likely while its true causes are unknown."""
    answers = _answer_files(partial(replay_round_without_truth, kinds=kinds), folder, workers, only)
    return [answer for answer in answers if answer is not None]


def replay_round(file: Path) -> Round:
    """Return a stored round with the answer of the rules of today."""
    began = time.perf_counter()
    stored, view = load_stored_view(file)
    return build_answered_round(stored, view, began)


def replay_round_without_truth(
    file: Path, kinds: Sequence[str] = KINDS
) -> tuple[Round, UnknownCauseAnswer] | None:
    """Return a stored round with what is likely while its true causes are unknown, or None if it has none."""
    stored, view = load_stored_view(file)
    if not stored.truth or stored.kind not in kinds:
        return None
    findings, times = evaluate_rules(RULES.values(), view), read_service_times(view)
    return stored, answer_without_truth(stored.truth, findings, RULES, CAUSES, times)


def load_stored_view(file: Path) -> tuple[Round, HostView]:
    """Return a stored round and its captures, parsed again."""
    archive = read_round(file)
    stored = load_round(archive.description)
    return stored, replace(archive.parse(), scope=tuple(sorted(stored.scope.items())))


def _answer_files(answer: Callable[[Path], Answer], folder: Path, workers: int, only: str) -> list[Answer]:
    """Return the answers to the rounds whose file name contains `only`, in order of their names."""
    files = sorted(path for path in folder.glob("*.tar.zst") if only in path.name)
    if workers == 1:
        return [answer(path) for path in files]
    with ProcessPoolExecutor(workers) as pool:
        return list(pool.map(answer, files))


def _print_unknown_causes(options: argparse.Namespace) -> int:
    """Print a line for each round in which something is likely, and the table."""
    answered = replay_without_truth(options.corpus, options.workers, options.only, options.kinds)
    for item, answer in answered:
        for title, named in (("wrong", answer.wrong), ("consequence", answer.consequences)):
            for cause, rules in named.items():
                print(f"{title:11} {item.scenario}-{item.seed}: {cause} by {' '.join(rules)}")
    text = "\n".join(render_unknown_causes([answer for _, answer in answered]))
    print(f"\n{text}")
    if options.table:
        options.table.write_text(text + "\n")
    return 0 if answered else 1


def build_answered_round(stored: Round, view: HostView, began: float) -> Round:
    """Return the round with what the rules name in this view."""
    findings = evaluate_rules(RULES.values(), view)
    ranking = rank_causes(findings, RULES, CAUSES, read_service_times(view))
    return replace(
        stored,
        named=[(cause.cause, cause.confidence) for cause in ranking.causes],
        nulls=name_causes(findings, RULES, view),
        harmed=bool(ranking.harm),
        unexplained_pct=None if ranking.unexplained is None else 100.0 * ranking.unexplained,
        seconds=time.perf_counter() - began,
        evaluated_ms=[],
    )


def format_answers(rounds: Sequence[Round]) -> str:
    """Return JSON with a line for each round: the true causes and the named ones with their confidence."""
    answers = {
        f"{item.scenario}-{item.seed}": {
            "truth": item.truth,
            "named": [" ".join(pair) for pair in item.named],
        }
        for item in rounds
    }
    lines = (f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in answers.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    sys.exit(main())
