"""Names of functions without the marks of a build: as real compilers write them, and what may never be merged."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from culprit.domain.profiles.symbol_names import find_module, group_by_base_name, strip_build_marks
from hypothesis import given
from hypothesis import strategies as st

#: (what the compiler wrote, the name without its marks): GCC 12 -O2 (nm, nm -C), rustc 1.95 legacy and v0.
GOLDEN = [
    ("weigh.constprop.0.isra.0", "weigh"),
    ("twice.constprop.0", "twice"),
    ("split.part.0", "split"),
    ("main.cold", "main"),
    ("check.cold.12", "check"),
    ("_ZN4shop5priceERK3Box.cold", "_ZN4shop5priceERK3Box"),
    ("_ZN4shopL5weighERK3Boxi.constprop.0.isra.0", "_ZN4shopL5weighERK3Boxi"),
    ("shop::price(Box const&) [clone .cold]", "shop::price(Box const&)"),
    ("shop::weigh(Box const&, int) [clone .constprop.0] [clone .isra.0]", "shop::weigh(Box const&, int)"),
    ("_ZN1c5weigh17h03c0c79cfd18b21aE", "_ZN1c5weighE"),
    ("_ZN1c4Shop5price17hd029f18f126c90f5E", "_ZN1c4Shop5priceE"),
    ("c::Shop::price::hd029f18f126c90f5", "c::Shop::price"),
    ("_RNvCshHTVJ4qlX6m_1c5weigh", "_RNvC1c5weigh"),
    ("_RNvCsdG54rpnlz9n_1c5weigh", "_RNvC1c5weigh"),
    ("c[4f0c5f1b1b2d3a4e]::weigh", "c::weigh"),
    ("tcp_v4_rcv.llvm.1234567890", "tcp_v4_rcv"),
    # Left alone: part of what a function is, or not a mark.
    ("operator delete[](void*)", "operator delete[](void*)"),
    ("main.main.func1", "main.main.func1"),
    ("runtime.gcBgMarkWorker", "runtime.gcBgMarkWorker"),
    ("memcpy@GLIBC_2.2.5", "memcpy@GLIBC_2.2.5"),
    ("[unknown]", "[unknown]"),
    ("Lshop/Cart;::price", "Lshop/Cart;::price"),
    (".cold", ".cold"),
    ("", ""),
]
NAMES = st.from_regex(r"\A[A-Za-z_][A-Za-z0-9_]{0,12}(::[a-z_][a-z0-9_]{0,8}){0,2}\Z").filter(
    lambda name: not re.search(r"::h[0-9a-f]{16}$|^_R|^_ZN", name)
)
MARKS = st.sampled_from(
    [
        ".isra.0",
        ".constprop.3",
        ".part.12",
        ".cold",
        ".cold.7",
        ".lto_priv.0",
        ".llvm.99",
        "::h0123456789abcdef",
    ]
)


@pytest.mark.parametrize(("symbol", "base"), GOLDEN)
def test_the_marks_of_a_build_come_off(symbol: str, base: str) -> None:
    assert strip_build_marks(symbol) == base


@given(st.text(max_size=40) | NAMES)
def test_twice_is_as_once_and_nothing_is_left_of_no_name(symbol: str) -> None:
    once = strip_build_marks(symbol)
    assert strip_build_marks(once) == once and bool(once) == bool(symbol)


@given(NAMES, NAMES, st.lists(MARKS, max_size=4), st.lists(MARKS, max_size=4))
def test_names_are_taken_together_only_where_they_are_the_same_before_their_marks(
    left_name: str, right_name: str, marks: list[str], more: list[str]
) -> None:
    left, right = strip_build_marks(left_name + "".join(marks)), strip_build_marks(right_name + "".join(more))
    assert left == left_name and (left == right) == (left_name == right_name)


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("libc.so.6+0x2724a", "libc.so.6+0x…"),
        ("[vdso]+0x9f0", "[vdso]+0x…"),
        ("a+0x1+0x2", "a+0x1+0x…"),
        ("0x7f3a51c0", "0x…"),
        ("7f3a51c0d000", "0x…"),
        ("deadbeef", None),
        ("operator+0", None),
        ("+0x10", None),
        ("f<0x10>", None),
        ("main", None),
    ],
)
def test_addresses_are_no_names(name: str, module: str | None) -> None:
    assert find_module(name) == module


def test_what_was_taken_together_is_listed() -> None:
    assert group_by_base_name(["price", "price.cold", "price.isra.0", "weigh", "split.part.0"]) == {
        "price": ("price", "price.cold", "price.isra.0"),
        "split": ("split.part.0",),
    }


SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
struct box { long a; };
static __attribute__((noinline)) long weigh(const struct box *one, int mode)
{ long t = 0; for (long i = 0; i < one->a; i++) t += i * mode; return t; }
int main(int argc, char **argv) {
  struct box b = { argc * 1000L };
  if (__builtin_expect(argc > 1000, 0)) { fprintf(stderr, "%d\n", argc); abort(); }
  return (int)weigh(&b, 7); }
"""


@pytest.mark.skipif(not shutil.which("gcc") or not shutil.which("nm"), reason="no compiler here")
def test_a_fresh_build_shows_the_names_of_its_source(tmp_path) -> None:
    (tmp_path / "one.c").write_text(SOURCE)
    subprocess.run(["gcc", "-O2", "-c", "one.c"], cwd=tmp_path, check=True)
    lines = subprocess.run(["nm", "one.o"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    code = {line.split()[-1] for line in lines.splitlines() if line.split()[-2] in "tT"}
    assert {strip_build_marks(item) for item in code} - {".text"} == {"main", "weigh"}
    assert code - {"main", "weigh"}, "a compiler that splits nothing proves nothing"
