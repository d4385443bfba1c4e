"""One name for one function, however this build of the program happens to call it.

Compilers put marks behind the names of functions that they split, clone or specialise, and Rust puts a hash there; they
change from build to build, so that two profiles seem to have nothing in common. Here the marks are taken off, and
nothing else: names that differ before their marks stay different. Merged names are listed, so that users
can check the result.

Sources: GCC's `clone_function_name` (.isra .constprop .part .cold .lto_priv), LLVM's `.llvm.<hash>`, Rust's RFC 2603
(symbol name mangling v0) and the legacy mangling before it (`17h<16 hex digits>E`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

#: Marks of the compiler behind a linker's name. Each has a number, or, as .cold, may have one.
_MARK = (
    r"(?:isra|constprop|part|lto_priv|clone|llvm|unlikely|localalias)\.[0-9]+|cold(?:\.[0-9]+)?|localalias"
)
_BEHIND = re.compile(rf"(?<=[^.])\.(?:{_MARK})$")
#: The same behind a name that was demangled: ` [clone .isra.0]`, as binutils and so perf write it.
_CLONE = re.compile(r"(?<=[^ ]) \[clone \.[A-Za-z_]+(?:\.[0-9]+)*\]$")
#: Legacy Rust, demangled and as the linker has it. The hash is always 16 digits.
_HASH = re.compile(r"(?<=[^:])::h[0-9a-f]{16}$")
_MANGLED_HASH = re.compile(r"^(_ZN.+)17h[0-9a-f]{16}E$")
#: Rust v0: the crate's number where a plain path begins. Later ones need a full parser.
_CRATE = re.compile(r"^(_R(?:N[a-zA-Z])*C)s[0-9A-Za-z]*_(?=[0-9])")
#: Rust v0, demangled with numbers: `shop[4f0c5f1b1b2d3a4e]::price`.
_NUMBER = re.compile(r"(?<=[A-Za-z0-9_])\[[0-9a-f]{1,16}\](?=::)")


def strip_build_marks(symbol: str) -> str:
    """The function's name without marks of this build. A name is never reduced to nothing; twice is as once."""
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
    """Return what a frame without a symbol is compared by, `MODULE+0x…`; None for names.

    An address belongs to one build: another build has another function there.
    """
    if match := _ADDRESS.match(name):
        return f"{match[1]}+0x…"
    return "0x…" if _BARE_ADDRESS.match(name) and any(c.isdigit() for c in name) else None


def group_by_base_name(symbols: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """What was renamed or taken together: base name → the names that became it, sorted. Others are left out."""
    results: dict[str, set[str]] = {}
    for symbol in symbols:
        results.setdefault(strip_build_marks(symbol), set()).add(symbol)
    return {base: tuple(sorted(names)) for base, names in sorted(results.items()) if names != {base}}
