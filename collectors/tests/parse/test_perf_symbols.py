"""Copies of stacks, inlined functions and generated code: recordings of this machine, read by perf and by us."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from collectors.parse.perf import perf_data, perf_script
from collectors.profiles.samples import SampleTable
from collectors.profiles.trie import INLINED, FrameKind
from collectors.tests.recorded_profiles import source
from collectors.tests.support import find_node

pytestmark = pytest.mark.skipif(not perf_data.is_available(), reason="the native reader is not built")

COPIES = ("-F", "1999", "--buildid-all", "--call-graph", "dwarf,16384")
CHAINS = ("-F", "999", "-g", "-k", "CLOCK_MONOTONIC")
C = """
#include <stdlib.h>
#include <string.h>
static inline __attribute__((always_inline)) unsigned mix(unsigned x) { x ^= x << 13; x ^= x >> 17; x ^= x << 5; return x; }
static inline __attribute__((always_inline)) unsigned twice(unsigned x) { return mix(mix(x)); }
__attribute__((noinline)) unsigned leaf(unsigned n) {
    unsigned s = n | 1; for (unsigned i = 0; i < 20000; i++) s = twice(s); return s; }
__attribute__((noinline)) unsigned down(unsigned n) {
    char pad[n % 64 + 16]; memset(pad, (int)n, sizeof pad);
    if (n == 0) return leaf(pad[3] | 1u);
    return down(n - 1) + pad[n % 16]; }
static int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
__attribute__((noinline)) int sorted(unsigned n) {
    int *v = malloc(n * sizeof *v); unsigned s = n | 1;
    for (unsigned i = 0; i < n; i++) { s = mix(s); v[i] = (int)(s >> 1); }
    qsort(v, n, sizeof *v, order); int middle = v[n / 2]; free(v); return middle; }
int main(void) { unsigned t = 0; for (unsigned i = 0; i < 2500; i++) { t += down(i % 20); t += sorted(2000); } return t == 7; }
"""
CPP = """
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>
struct Shape { virtual ~Shape() = default; virtual double area(int) const = 0; };
struct Square : Shape { double side; explicit Square(double s) : side(s) {}
  double area(int n) const override { double t = 0; for (int i = 0; i < n; i++) t += side * side / (i + 1); return t; } };
int fails(int n) { if (n % 7 == 0) throw n; return n; }
int main() {
  std::vector<std::unique_ptr<Shape>> all; std::map<std::string, int> words; double t = 0;
  std::function<int(int)> f = [&](int n) { return n < 2 ? n : f(n - 1) + f(n - 2); };
  for (int i = 0; i < 50; i++) all.push_back(std::make_unique<Square>(i));
  for (int k = 0; k < 1500; k++) {
    for (auto &s : all) t += s->area(40);
    std::vector<std::string> v; for (int i = 0; i < 300; i++) v.push_back(std::to_string((i * 7919 + k) % 401));
    std::sort(v.begin(), v.end(), [](auto &a, auto &b) { return a > b; });
    for (auto &w : v) words[w]++;
    t += f(14); for (int i = 0; i < 30; i++) try { t += fails(i); } catch (int e) { t -= e; }
  }
  return t == words.size(); }
"""
JAVASCRIPT = """
function leafWork(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) % 1000003; return s; }
function middleWork(n) { let t = 0; for (let i = 0; i < 40; i++) t += leafWork(n); return t; }
let total = 0; const end = Date.now() + 1000;
while (Date.now() < end) total += middleWork(3000);
"""
VDSO = "import time\nend = time.time() + 1\nwhile time.time() < end: pass\n"


def build(folder: Path, compiler: str, text: str) -> Path:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} here")
    code = folder / ("program.cpp" if compiler == "g++" else "program.c")
    code.write_text(text)
    program = folder / "program"
    options = ["-g", "-O2", "-fomit-frame-pointer", "-o", str(program), str(code)]
    subprocess.run([compiler, *options], check=True, capture_output=True)
    return program


def record(folder: Path, options: Iterable[str], *command: str) -> Path:
    path = folder / "perf.data"
    whole = ["perf", "record", "-q", *options, "-o", str(path), "--", *command]
    done = subprocess.run(whole, capture_output=True, check=False, cwd=folder)
    if not path.exists():
        pytest.skip(f"perf cannot record this here: {done.stderr[-200:]!r}")
    return path


def print_script(path: Path, *options: str) -> SampleTable:
    """What perf script prints, with all frames of every stack."""
    command = ["perf", "--no-pager", "script", *options, "--ns", "--max-stack", "4000", "-i", str(path)]
    command += ["-F", "comm,pid,tid,time,event,ip,sym,dso"]
    return perf_script.parse_perf_script(
        source(subprocess.run(command, capture_output=True, check=True).stdout)
    )


def read(path: Path, inlines: bool | None = None, **files: Path) -> SampleTable:
    symbols = perf_data.SymbolFiles(Path("/proc/kallsyms"), root=Path("/"), inlines=inlines, **files)
    return perf_data.read_samples(path, symbols)


def list_stacks(table: SampleTable) -> list[list[str]]:
    """The stack of every sample in order of time, the innermost frame first. Inlined frames end in a mark."""
    words, kinds, flags = table.frames.strings.all(), table.frames.kind.tolist(), table.frames.flags.tolist()
    names = [
        ("?" if kinds[frame] == FrameKind.UNKNOWN else words[name]) + " (inlined)" * (flags[frame] & INLINED)
        for frame, name in enumerate(table.frames.name.tolist())
    ]
    order = sorted(range(table.samples), key=lambda at: (table.t_ns[at], table.tid[at]))
    return [[names[frame] for frame in table.trie.path(int(table.stack[at]))][:0:-1] for at in order]


def drop_cut(stack: list[str]) -> list[str]:
    """Where a copy of a stack ends, perf adds an address without a meaning."""
    return stack[:-1] if stack and stack[-1] == "?" else stack


@pytest.mark.parametrize(("compiler", "text"), [("gcc", C), ("g++", CPP)], ids=["C", "C++"])
def test_copies_of_stacks_become_the_chains_of_perf(compiler: str, text: str, tmp_path: Path) -> None:
    path = record(tmp_path, COPIES, str(build(tmp_path, compiler, text)))
    ours = [drop_cut(stack) for stack in list_stacks(read(path, inlines=False))]
    theirs = [drop_cut(stack) for stack in list_stacks(print_script(path, "--no-inline"))]
    assert len(ours) == len(theirs) > 100
    wrong = [pair for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1]]
    assert len(wrong) <= len(ours) // 50, wrong[:3]
    assert sum(stack[-1] == "_start" for stack in ours) > 0.9 * len(ours)


def test_inlined_functions_are_those_of_perf(tmp_path: Path) -> None:
    path = record(tmp_path, COPIES, str(build(tmp_path, "gcc", C)))
    # perf gives the outermost function of an address the mark too, where its name is not that of the symbol: libc has
    # such names, this program has none.
    ours, theirs = (
        [
            stack[: stack.index("main") + 1]
            for stack in list_stacks(table)
            if "main" in stack and "leaf" in stack
        ]
        for table in (read(path), print_script(path))
    )
    assert len(ours) == len(theirs) > 100
    wrong = [pair for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1]]
    assert len(wrong) <= len(ours) // 50, wrong[:3]
    inside = [stack for stack in ours if stack[:3] == ["mix (inlined)", "twice (inlined)", "leaf"]]
    assert len(inside) > len(ours) // 2


def test_chains_of_frame_pointers_have_inlined_functions_on_request(tmp_path: Path) -> None:
    path = record(tmp_path, CHAINS, str(build(tmp_path, "gcc", C)))
    plain, expanded = list_stacks(read(path)), list_stacks(read(path, inlines=True))
    assert plain == list_stacks(read(path, inlines=False))
    assert any(stack[:3] == ["mix (inlined)", "twice (inlined)", "leaf"] for stack in expanded)
    # What is not inlined is as before.
    kept = [[name for name in stack if not name.endswith("(inlined)")] for stack in expanded]
    assert kept == plain


@pytest.mark.parametrize("folder", [".", ".debug"])
def test_debugging_information_may_be_in_a_file_of_its_own(folder: str, tmp_path: Path) -> None:
    program = build(tmp_path, "gcc", C)
    (tmp_path / folder).mkdir(exist_ok=True)
    apart = tmp_path / folder / "program.debug"
    for command in (
        ["objcopy", "--only-keep-debug", str(program), str(apart)],
        ["objcopy", "--strip-all", f"--add-gnu-debuglink={apart}", str(program)],
    ):
        subprocess.run(command, check=True, capture_output=True)
    path = record(tmp_path, COPIES, str(program))

    def count_inside() -> int:
        stacks = list_stacks(read(path))
        return sum(stack[:2] == ["mix (inlined)", "twice (inlined)"] for stack in stacks)

    assert count_inside() > 100
    with apart.open("ab") as out:
        out.write(b"another build")
    assert count_inside() == 0


@pytest.mark.parametrize("option", ["--perf-basic-prof", "--perf-prof"], ids=["map", "dump"])
def test_code_of_node_has_its_names(option: str, tmp_path: Path) -> None:
    if shutil.which("node") is None:
        pytest.skip("no node here")
    (tmp_path / "work.js").write_text(JAVASCRIPT)
    path = record(tmp_path, CHAINS, find_node(), option, "work.js")
    written = Path(f"/tmp/perf-{int(read(path).pid[0])}.map")
    if written.exists():
        shutil.move(written, tmp_path)
    named, unnamed = read(path, perf_maps=tmp_path), read(path)
    share = sum("Work " in stack[0] for stack in list_stacks(named) if stack) / named.samples
    assert share > 0.5
    assert all("Work " not in name for stack in list_stacks(unnamed) for name in stack)
    # Without a map, each address is a frame of the memory of its process.
    words = unnamed.frames.strings.all()
    modules = {
        words[module]
        for name, module in zip(unnamed.frames.name.tolist(), unnamed.frames.module.tolist(), strict=True)
        if re.match(r"perf-\d+\.map\+0x", words[name])
    }
    assert modules == {f"/tmp/perf-{int(unnamed.pid[0])}.map"}


def test_the_vdso_is_a_module_like_others(tmp_path: Path) -> None:
    path = record(tmp_path, CHAINS, "/usr/bin/python3", "-c", VDSO)
    image = copy_vdso(tmp_path / "image")
    note = subprocess.run(["readelf", "-n", str(image)], capture_output=True, text=True, check=True).stdout
    build_id = re.search(r"Build ID: ([0-9a-f]+)", note)
    assert build_id
    store = tmp_path / "store"
    store.mkdir()
    image.rename(store / build_id[1])

    def list_names(table: SampleTable) -> set[str]:
        words = table.frames.strings.all()
        pairs = zip(table.frames.name.tolist(), table.frames.module.tolist(), strict=True)
        return {words[name] for name, module in pairs if words[module] == "[vdso]"}

    without, within = list_names(read(path)), list_names(read(path, store=store))
    if not without:
        pytest.skip("this clock needs system calls")
    assert all(name.startswith("[vdso]+0x") for name in without)
    assert any("gettime" in name or "gettimeofday" in name for name in within)


def copy_vdso(into: Path) -> Path:
    """Copy the vdso of this kernel out of the memory of this process."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    place = next((line.split()[0] for line in lines if line.endswith("[vdso]")), None)
    if place is None:
        pytest.skip("no vdso here")
    start, end = (int(address, 16) for address in place.split("-"))
    with Path("/proc/self/mem").open("rb") as memory:
        memory.seek(start)
        into.write_bytes(memory.read(end - start))
    return into
