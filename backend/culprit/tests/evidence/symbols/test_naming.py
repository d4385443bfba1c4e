"""The reason why functions of a module have no names."""

from __future__ import annotations

import pytest
from culprit.evidence.symbols.naming import explain_naming
from culprit.evidence.symbols.queries import SymbolFetch

NO_FETCH = SymbolFetch(None, {})
REFUSED = {"key": "ssh.refused", "params": {}}


def explain(
    *modules: dict[str, object],
    stored: tuple[str, ...] = (),
    fetch: SymbolFetch = NO_FETCH,
    kernel: tuple[int, int] = (0, 0),
) -> dict[str, str]:
    """Return the key of the reason by module."""
    plain = {
        "path": "/usr/bin/db", "key": "inode-1", "is_anonymous": False, "samples": 9, "symbols": 0, "unnamed_samples": 9
    }  # fmt: skip
    described = {
        "modules": [plain | module for module in modules],
        "kernel_samples": kernel[0],
        "kernel_symbols": kernel[1],
    }
    naming = explain_naming(described, stored, fetch, NO_FETCH)
    return {item["module"]: item["reason"]["key"] for item in naming["unnamed"]}


@pytest.mark.parametrize(
    ("stored", "fetch", "reason"),
    [
        (("inode-1",), NO_FETCH, "naming.stripped"),
        ((), SymbolFetch(None, {"inode-1": "too_large"}), "naming.too_large"),
        ((), SymbolFetch(None, {"inode-1": "no_sections"}), "naming.stripped"),
        ((), SymbolFetch(None, {"inode-1": "not_elf"}), "naming.no_program"),
        ((), SymbolFetch(None, {"inode-1": "unreadable"}), "naming.unreadable"),
        ((), SymbolFetch(None, {"inode-1": "gone"}), "naming.gone"),
        ((), SymbolFetch(REFUSED, {}), "ssh.refused"),
        ((), SymbolFetch(None, {"inode-2": "file"}), "naming.not_fetched"),
    ],
)
def test_a_module_has_the_reason_of_its_fetch(
    stored: tuple[str, ...], fetch: SymbolFetch, reason: str
) -> None:
    assert explain({}, stored=stored, fetch=fetch) == {"/usr/bin/db": reason}


@pytest.mark.parametrize(
    ("symbols", "unnamed", "fetch", "reason"),
    [
        (0, 9, SymbolFetch(None, {"map-7": "gone"}), "naming.generated"),
        (0, 9, NO_FETCH, "naming.generated"),
        (0, 9, SymbolFetch(REFUSED, {}), "ssh.refused"),
        (0, 9, SymbolFetch(REFUSED, {"map-7": "gone"}), "naming.generated"),
        (500, 2, SymbolFetch(None, {"map-7": "map"}), "naming.map_old"),
        (500, 0, SymbolFetch(None, {"map-7": "map"}), None),
    ],
)
def test_generated_code_has_no_map_or_an_outdated_map(
    symbols: int, unnamed: int, fetch: SymbolFetch, reason: str | None
) -> None:
    path = "/tmp/perf-7.map"
    module = {
        "path": path, "key": None, "is_anonymous": True, "symbols": symbols, "unnamed_samples": unnamed
    }  # fmt: skip
    assert explain(module, fetch=fetch) == ({path: reason} if reason else {})


def test_areas_of_the_kernel_are_explained_by_their_names() -> None:
    assert explain({"path": "[vdso]", "key": None}, {"path": "/memfd:x", "key": None}) == {
        "/memfd:x": "naming.no_file"
    }


@pytest.mark.parametrize(("samples", "symbols", "is_listed"), [(5, 0, True), (5, 9, False), (0, 0, False)])
def test_a_kernel_that_hides_its_symbols_is_listed(samples: int, symbols: int, is_listed: bool) -> None:
    assert explain(kernel=(samples, symbols)) == ({"[kernel]": "naming.kernel_hidden"} if is_listed else {})
