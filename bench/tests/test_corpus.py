"""Rounds are stored and loaded; the current rules give the stored answers for the whole corpus."""

import json

import pytest

from bench.accuracy.corpus import StoredRound, StoredRun, merge_views, read_round, write_round
from bench.accuracy.replay import ANSWERS, CORPUS, format_answers, replay_corpus

CLOCK = {
    "bt0": "0",
    "bt1": "0",
    "m0": "0",
    "m1": "0",
    "real": "1767225600000000000",
    "res": "1",
    "src": "date",
}
MAX_BYTES = 25 << 20


def store_run(state: str, loadavg: str) -> StoredRun:
    collectors = [{"id": "loadavg", "method": "proc", "seconds": 1.0, "state": state}]
    description = {"clock": CLOCK, "facts": {}, "t0_ns": 1, "t1_ns": 2, "collectors": collectors}
    samples = (
        f"@ 0 1000000000 /proc/loadavg\n{loadavg} 1/100 7\n@ 1 2000000000 /proc/loadavg\n{loadavg} 1/100 7\n"
    )
    return StoredRun(description, {"loadavg": {"samples": samples.encode()}})


def test_round_is_read_as_it_was_written(tmp_path) -> None:
    runs = [store_run("done", "1.0 1.0 1.0"), store_run("done", "2.0 2.0 2.0")]
    written = StoredRound({"scenario": "a"}, runs, store_run("done", "0.5 1.0 1.0"))
    write_round(tmp_path / "a.tar.zst", written)
    assert read_round(tmp_path / "a.tar.zst") == written


def test_round_is_compared_with_its_baseline(tmp_path) -> None:
    runs = [store_run("done", "1.0 1.0 1.0"), store_run("done", "2.0 2.0 2.0")]
    before = StoredRound({}, runs, store_run("done", "0.5 1.0 1.0")).parse().baseline
    assert before is not None
    assert [float(item.values.mean()) for item in before.series_of("load.avg1")] == [0.5]
    assert StoredRound({}, runs).parse().baseline is None


def test_last_stage_of_a_collector_counts() -> None:
    views = [store_run("done", "1.0 1.0 1.0").parse(), store_run("done", "2.0 2.0 2.0").parse()]
    series = list(merge_views(views).series_of("load.avg1"))
    assert [float(item.values.mean()) for item in series] == [2.0]


@pytest.mark.long(200)
def test_rules_answer_the_corpus_as_its_answers_state() -> None:
    """If a change of rules changes an answer, run `./culprit bench replay --save` and review the difference."""
    rounds = replay_corpus(CORPUS, workers=1)
    assert json.loads(format_answers(rounds)) == json.loads((CORPUS / ANSWERS).read_text())
    assert rounds


def test_corpus_is_small() -> None:
    assert sum(path.stat().st_size for path in CORPUS.iterdir()) <= MAX_BYTES
