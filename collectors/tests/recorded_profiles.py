"""What the tests of profiles share: captured files, and a reader that is slow and obvious."""

from __future__ import annotations

import gzip
import io
from collections import Counter
from pathlib import Path

from collectors.profiles.samples import SampleTable

FIXTURES = Path(__file__).parent / "fixtures" / "profiles"

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "]]><!--",
    "a\"b'c&d",
    "&lt;&#0;&#x1b;",
    "javascript:alert(1)",
    'x" onload="alert(1)',
    "\x1b[31mred\x07",
    "nul\x00byte",
    "bell\x08\x7f",
    "rtl\u202egpj.exe",
    "non\ufffechar\uffff",
    "c1\x85\x9b31m",
    "${jndi:ldap://x}{{7*7}}",
    "=HYPERLINK(1)",
    "../../etc/passwd",
    "名前 symbol",
    "a b  c",
    "operator()(int) (x)",
    "(((",
    ")))",
    "[unknown]",
    "-",
    "%s%n%x",
    "1 2 3",
    "__proto__",
    "constructor",
]


def captured(name: str) -> bytes:
    """The text of a captured file."""
    return gzip.decompress((FIXTURES / f"{name}.gz").read_bytes())


def source(text: bytes) -> io.BytesIO:
    """Something with `read`."""
    return io.BytesIO(text)


def stacks(table: SampleTable) -> Counter[tuple[str, ...]]:
    """Each stack (names, outermost first) and its weight, one sample at a time."""
    words = table.frames.strings.all()
    names = [words[i] for i in table.frames.name.tolist()]
    seen: Counter[tuple[str, ...]] = Counter()
    for node, weight in zip(table.stack.tolist(), table.weight.tolist(), strict=True):
        seen[tuple(names[f] for f in table.trie.path(node))] += weight
    return seen
