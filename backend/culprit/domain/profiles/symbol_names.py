"""Strip build-specific suffixes from symbol names, so that profiles of different builds can be compared.

Compilers append marks to the names of functions that they split, clone or specialize, and Rust appends a hash. These
differ between builds, so that the same function has different names. Only the marks are removed: names that differ
before their marks stay different. Merged names are listed, so that users can check the result.

Sources: GCC's `clone_function_name` (.isra .constprop .part .cold .lto_priv), LLVM's `.llvm.<hash>`, Rust's RFC 2603
(symbol name mangling v0) and the legacy mangling before it (`17h<16 hex digits>E`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

#: Compiler suffixes of linker symbols. Each has a number; for .cold it is optional, .localalias may have none.
_MARK = (
    r"(?:isra|constprop|part|lto_priv|clone|llvm|unlikely|localalias)\.[0-9]+|cold(?:\.[0-9]+)?|localalias"
)
_BEHIND = re.compile(rf"(?<=[^.])\.(?:{_MARK})$")
#: The same suffixes of demangled names: ` [clone .isra.0]`, the notation of binutils and perf.
_CLONE = re.compile(r"(?<=[^ ]) \[clone \.[A-Za-z_]+(?:\.[0-9]+)*\]$")
#: Legacy Rust mangling, demangled and as linker symbol. The hash always has 16 digits.
_HASH = re.compile(r"(?<=[^:])::h[0-9a-f]{16}$")
_MANGLED_HASH = re.compile(r"^(_ZN.+)17h[0-9a-f]{16}E$")
#: Rust v0 mangling: the crate disambiguator at the start of a plain path. Later ones need a full parser.
_CRATE = re.compile(r"^(_R(?:N[a-zA-Z])*C)s[0-9A-Za-z]*_(?=[0-9])")
#: Rust v0, demangled with disambiguators: `shop[4f0c5f1b1b2d3a4e]::price`.
_NUMBER = re.compile(r"(?<=[A-Za-z0-9_])\[[0-9a-f]{1,16}\](?=::)")


def strip_build_marks(symbol: str) -> str:
    """Return the function name without build marks. The result is never empty; the function is idempotent."""
    while True:
        shorter = _NUMBER.sub("", _CRATE.sub(r"\1", _strip_mark(symbol)))
        if shorter == symbol:
            return symbol
        symbol = shorter


def _strip_mark(symbol: str) -> str:
    for pattern in (_BEHIND, _CLONE, _HASH):
        symbol = pattern.sub("", symbol)
    return _MANGLED_HASH.sub(r"\1E", symbol)


_ADDRESS = re.compile(r"^(.+)\+0x[0-9a-f]+$", re.DOTALL)
_BARE_ADDRESS = re.compile(r"^(?:0x)?[0-9a-f]{6,16}$")


def find_module(name: str) -> str | None:
    """Return `MODULE+0x…` for a frame without a symbol, or None for a symbol name.

    Frames without a symbol are compared by module: an address in another build is another function.
    """
    if match := _ADDRESS.match(name):
        return f"{match[1]}+0x…"
    return "0x…" if _BARE_ADDRESS.match(name) and any(c.isdigit() for c in name) else None


def group_by_base_name(symbols: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """Return {base name: sorted original names} of the renamed and merged symbols. Others are left out."""
    results: dict[str, set[str]] = {}
    for symbol in symbols:
        results.setdefault(strip_build_marks(symbol), set()).add(symbol)
    return {base: tuple(sorted(names)) for base, names in sorted(results.items()) if names != {base}}
