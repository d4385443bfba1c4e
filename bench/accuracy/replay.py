"""How often the right cause is named in the corpus of stored captures, without a host: all rules over all rounds.

    ./culprit bench replay [--corpus DIR] [--kinds KIND ...] [--only TEXT] [--table FILE] [--workers N]

Each round holds the captures of all stages that the diagnosis took when it was played. Parsers and rules of today read
them again. Data of later collectors is missing, so a replay can be worse than a new round. docs/corpus.md describes the
file format.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

from culprit.domain.rules.evaluate import evaluate_rules
from culprit.domain.rules.measures.service_time.accounts import read_service_times
from culprit.domain.rules.ranking.rank import rank_causes
from culprit.domain.rules.registry import CAUSES, RULES
from culprit.domain.rules.view import HostView
from culprit.launcher.paths import ROOT

from bench.accuracy.corpus import merge_views, read_round
from bench.accuracy.null_models import name_causes
from bench.accuracy.rounds import KINDS, Round, describe_round, load_round, record_round
from bench.accuracy.score_table import render_tables

CORPUS = ROOT / "bench" / "corpus"
#: What the rules of today name in every round. A test compares it, so that a change of rules shows its effect.
ANSWERS = "answers.json"


def main() -> int:
    """Print a line for each round and the tables. Return 1 if the corpus holds no such round."""
    parser = argparse.ArgumentParser(prog="culprit bench replay", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=KINDS)
    parser.add_argument("--only", default="", help="rounds whose file name contains this")
    parser.add_argument("--table", type=Path, help="write the tables to this Markdown file")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--save", action="store_true", help=f"write the answers to {ANSWERS} of the corpus")
    options = parser.parse_args()
    began = time.monotonic()
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
    files = sorted(path for path in folder.glob("*.tar.zst") if only in path.name)
    if workers == 1:
        return [replay_round(path) for path in files]
    with ProcessPoolExecutor(workers) as pool:
        return list(pool.map(replay_round, files))


def replay_round(file: Path) -> Round:
    """Return a stored round with the answer of the rules of today."""
    description, runs = read_round(file)
    stored = load_round(description)
    began = time.perf_counter()
    view = replace(merge_views([run.parse() for run in runs]), scope=tuple(sorted(stored.scope.items())))
    return answer_round(stored, view, began)


def answer_round(stored: Round, view: HostView, began: float) -> Round:
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
