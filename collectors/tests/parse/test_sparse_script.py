"""Text of `perf script` with few fields has the same stacks as with all of them."""

from __future__ import annotations

from collections import Counter

import pytest
from culprit.domain.imports.file_kinds import detect_file_kind

from collectors.parse.perf import perf_script
from collectors.parse.perf.perf_script_sparse import is_sparse, parse_sparse_script
from collectors.profiles.limits import LimitExceededError, ReaderLimits, WrongFormatError
from collectors.profiles.samples import SampleTable
from collectors.tests.recorded_profiles import captured, source, stacks


def without_tasks(table: SampleTable) -> Counter[tuple[str, ...]]:
    plain: Counter[tuple[str, ...]] = Counter()
    for path, weight in stacks(table).items():
        plain[path[1:]] += weight
    return plain


@pytest.fixture(scope="module")
def direct() -> SampleTable:
    return perf_script.parse_perf_script(source(captured("sparse_all.txt")))


@pytest.mark.parametrize("name", ["sparse_ip.txt", "sparse_time.txt"])
def test_samples_without_tasks(direct, name):
    text = captured(name)
    assert is_sparse(text[: 64 << 10]) and detect_file_kind(text[: 64 << 10]) == "perf_script"
    (table,) = parse_sparse_script(source(text))
    assert stacks(table) == without_tasks(direct)


def test_samples_with_tasks_and_without_events(direct):
    text = captured("sparse_comm.txt")
    assert is_sparse(text[: 64 << 10]) and detect_file_kind(text[: 64 << 10]) == "perf_script"
    (table,) = parse_sparse_script(source(text))
    assert stacks(table) == stacks(direct) and not table.has_time
    assert table.tid.tolist() == direct.tid.tolist()


def test_times_and_events(direct):
    (table,) = parse_sparse_script(source(captured("sparse_time.txt")))
    assert table.t_ns.tolist() == direct.t_ns.tolist() and table.events == direct.events


@pytest.mark.parametrize(
    "name", ["sparse_all.txt", "cpu.txt", "cpu_default.txt", "lost.txt", "two.txt", "flat.txt", "sched.txt"]
)
def test_complete_text_is_not_sparse(name):
    assert not is_sparse(captured(name)[: 64 << 10])


@pytest.mark.parametrize("text", [b"", b"one\ntwo\n", b"a;b 1\n", b"web 1/2 3.000001: x:\n\t1 f\n\n"])
def test_other_text_is_not_sparse(text):
    assert not is_sparse(text)


def test_refusals_name_the_line():
    with pytest.raises(WrongFormatError) as refused:
        parse_sparse_script(source(b"web \n\t 1 f\n\nweb \nanother header\n"))
    assert refused.value.sentence.params["line"] == 5
    with pytest.raises(WrongFormatError):
        parse_sparse_script(source(b"web \n\tno address\n"))
    with pytest.raises(LimitExceededError):
        parse_sparse_script(source(b"web \n" + b"\t 1 f\n" * 20), ReaderLimits(depth=10))
