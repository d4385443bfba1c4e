"""The fuzzer's stored inputs are parsed within their bounds, and a short run of the fuzzer breaks no parser."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.fuzz.corpus import CORPUS, INPUTS, load_broken_inputs, load_stored_inputs, store_inputs
from bench.fuzz.parts_text import decode_parts, encode_parts
from bench.fuzz.target import DefectError, FuzzTarget, check_exactly
from bench.fuzz.targets import TARGETS
from bench.tests.planted_parser import parse_largely, parse_planted, parse_slowly

# Parsers compute with numbers of hosts, which overflow; that is a warning also where they run.
pytestmark = [pytest.mark.long(90), pytest.mark.filterwarnings("default")]

ROOT = Path(__file__).parents[2]
PLANTED = FuzzTarget("planted", parse_planted, lambda: [], (ValueError,))
NEEDS_ATHERIS = pytest.mark.skipif(
    importlib.util.find_spec("atheris") is None, reason="atheris has no wheel for this platform"
)
RUNS = 20

FUZZ_PLANTED = """
import json, sys, time, atheris
from pathlib import Path
with atheris.instrument_imports(include=["bench"]):
    from bench.tests.planted_parser import parse_planted
from bench.fuzz.libfuzzer import FuzzSpec, read_result, select_smallest, start_fuzzing
from bench.fuzz.target import FuzzTarget
target = FuzzTarget("planted", parse_planted, lambda: [], (ValueError,))
directory = Path(sys.argv[1])
child = start_fuzzing(target, FuzzSpec(120, 200_000), [b"B"], directory / "run")
while not child.has_ended():
    time.sleep(0.1)
result = read_result(child)
smallest = select_smallest(target, [b"x"], [b"BUG", b"B" * 9, b"BUG and more"], directory / "smallest")
print(json.dumps([[item.signature for item in result.defects], result.executed, [item.decode() for item in smallest]]))
"""


def run_python(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "backend"), str(ROOT), *sys.path])}
    return subprocess.run(
        [sys.executable, *map(str, arguments)], env=environment, cwd=ROOT, capture_output=True, text=True
    )


@pytest.mark.parametrize("name", TARGETS)
def test_stored_inputs_are_parsed_within_time_and_memory(name: str) -> None:
    target = TARGETS[name]
    inputs = [*target.seeds(), *load_stored_inputs(name).values(), *load_broken_inputs(name).values()]
    assert target.seeds()
    for data in inputs:
        check_exactly(target, data)


def test_stored_inputs_belong_to_targets() -> None:
    stored = {path.name.removesuffix(".tar.zst") for path in CORPUS.glob("*")}
    assert stored <= TARGETS.keys() and {path.name for path in INPUTS.glob("*")} <= TARGETS.keys()
    assert sum(path.stat().st_size for path in CORPUS.glob("*")) < 4 << 20


def test_check_exactly_notices_planted_defects() -> None:
    with pytest.raises(KeyError):
        check_exactly(PLANTED, b"BUG")
    for parse, message in ((parse_largely, "too large"), (parse_slowly, "too slow")):
        with pytest.raises(DefectError, match=message):
            check_exactly(FuzzTarget("planted", parse, lambda: []), b"")
    check_exactly(PLANTED, b"TYPED!")
    check_exactly(PLANTED, b"harmless")


@NEEDS_ATHERIS
def test_fuzzer_reaches_planted_defects_by_coverage(tmp_path: Path) -> None:
    ended = run_python("-c", FUZZ_PLANTED, tmp_path)
    assert ended.returncode == 0, ended.stderr[-3000:]
    defects, executed, smallest = json.loads(ended.stdout.splitlines()[-1])
    assert executed > 100
    kinds = sorted(signature.partition(" at ")[0] for signature in defects)
    assert kinds == ["KeyError"]
    # The longer inputs reach nothing that the smallest does not reach.
    assert smallest == ["BUG"]


@NEEDS_ATHERIS
def test_short_run_of_the_fuzzer_breaks_no_parser(tmp_path: Path) -> None:
    table = tmp_path / "table.json"
    ended = run_python(
        "-m", "bench.fuzz.fuzz", "--runs", str(RUNS), "--seconds", "30", "--defects", tmp_path / "defects", "--json", table
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-6000:]
    rows = json.loads(table.read_text())
    assert [row["target"] for row in rows if row["executed"] < 2 or row["covered"] < 2] == []
    assert {row["target"] for row in rows} == TARGETS.keys()


def test_corpus_is_read_as_it_was_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.fuzz.corpus.CORPUS", tmp_path)
    assert store_inputs("x", [b"b", b"", b"a", b"b"]) > 0
    first = (tmp_path / "x.tar.zst").read_bytes()
    assert sorted(load_stored_inputs("x").values()) == [b"", b"a", b"b"]
    store_inputs("x", [b"a", b"b", b""])
    assert (tmp_path / "x.tar.zst").read_bytes() == first
    assert store_inputs("x", []) == 0
    assert load_stored_inputs("x") == {}


def test_parts_are_decoded_as_they_were_encoded() -> None:
    parts = {"stdout": b"one\ntwo", "status.txt": b"", "samples": b"@ 0 1 /proc/stat\n1\n"}
    assert decode_parts(encode_parts("proc", parts, 4096)) == ("proc", parts)
    assert decode_parts(b"text") == ("", {"stdout": b"text", "samples": b"text"})
    cut = decode_parts(encode_parts("", {"stdout": b"line\n" * 1000}, 200))[1]["stdout"]
    assert 50 < len(cut) < 200 and cut.endswith(b"line\n")
