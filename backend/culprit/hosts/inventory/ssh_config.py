"""OpenSSH's client configuration (ssh_config(5)).

For every concrete alias the first value found wins, over all blocks whose patterns match it. `Match` and
`Include` depend on the machine that the file lies on: what they hold is not read, and aliases below a `Match`
block are not affected by it. IdentityFile is not read either: a private key is entered by hand.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from fnmatch import translate

from culprit.hosts.inventory.candidate import MAX_ROWS, Candidate, lines_of, port_of
from culprit.kit.errors import Invalid

WORDS = re.compile(r"^\s*([A-Za-z]+)(?:\s*=\s*|\s+)(.*?)\s*$")
WANTED = {"hostname", "port", "user", "proxyjump", "proxycommand"}
MAX_PATTERNS = 1000
WILD = frozenset("*?!")


@dataclass(slots=True)
class Block:
    """A Host section: its patterns and the first value of each keyword in it."""

    line: int
    patterns: list[str]
    values: dict[str, str] = field(default_factory=dict)

    @property
    def wild(self) -> list[str]:
        """The patterns that name no single host."""
        return [pattern for pattern in self.patterns if set(pattern) & WILD]


@dataclass(frozen=True, slots=True)
class Section:
    """A Host section with wildcards, ready to be compared with many aliases."""

    block: Block
    hits: tuple[re.Pattern[str], ...]
    misses: tuple[re.Pattern[str], ...]

    @classmethod
    def of(cls, block: Block) -> Section:
        """Brackets mean nothing in OpenSSH's patterns."""
        compiled = [
            (pattern.startswith("!"), re.compile(translate(pattern.removeprefix("!").replace("[", "[[]"))))
            for pattern in block.patterns
        ]
        return cls(
            block,
            tuple(one for negated, one in compiled if not negated),
            tuple(one for negated, one in compiled if negated),
        )

    def matches(self, alias: str) -> bool:
        """Whether the section is for that alias: a pattern matches and no negated one does."""
        return any(one.match(alias) for one in self.hits) and not any(one.match(alias) for one in self.misses)


def read(text: str) -> list[Candidate]:
    """The hosts of a configuration, in the order of the file."""
    blocks = _blocks(text)
    wild = [block for block in blocks if block.wild]
    if sum(len(block.patterns) for block in wild) > MAX_PATTERNS:
        raise Invalid("import.too_many_patterns", limit=MAX_PATTERNS)
    sections = [Section.of(block) for block in wild]
    exact: dict[str, list[Block]] = {}
    for block in blocks:
        for alias in () if block.wild else block.patterns:
            exact.setdefault(alias, []).append(block)
    first: dict[str, int] = {}
    for block in blocks:
        for alias in block.patterns:
            if not set(alias) & WILD:
                first.setdefault(alias, block.line)
                if len(first) > MAX_ROWS:
                    raise Invalid("import.too_many", limit=MAX_ROWS)
    found = []
    for alias, line in first.items():
        matching = [section.block for section in sections if section.matches(alias)]
        relevant = sorted((*matching, *exact.get(alias, ())[:20]), key=lambda block: block.line)
        found.append(_candidate(alias, line, relevant))
    return found


def _blocks(text: str) -> list[Block]:
    top = Block(0, ["*"])
    blocks, current = [top], top
    for number, line in enumerate(lines_of(text), 1):
        if line.lstrip().startswith("#"):
            continue
        found = WORDS.match(line)
        if found is None:
            continue
        keyword, rest = found[1].lower(), found[2]
        if keyword == "host":
            current = Block(number, _split(rest))
            blocks.append(current)
        elif keyword == "match":
            current = Block(number, [])  # what follows belongs to nobody here
        elif keyword in WANTED:
            words = _split(rest)
            if words:
                current.values.setdefault(keyword, words[0])
    return blocks


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=False)
    except ValueError:
        return text.split()


def _candidate(alias: str, line: int, blocks: list[Block]) -> Candidate:
    values: dict[str, str] = {}
    for block in blocks:
        for keyword, value in block.values.items():
            values.setdefault(keyword, value)
    address = values.get("hostname", alias).replace("%h", alias).replace("%%", "%")
    port = port_of(values.get("port", "22"))
    jump = values.get("proxyjump")
    jump = None if jump in (None, "none") else jump
    problem = None
    if port is None:
        problem = "import.port_unreadable"
    elif "proxycommand" in values and values["proxycommand"] != "none" and jump is None:
        problem = "import.proxy_command"
    elif jump is not None and ("," in jump or "@" in jump or ":" in jump):
        problem = "import.jump_chain"
    return Candidate(line, alias, address, port, values.get("user"), jump=jump, problem=problem)
