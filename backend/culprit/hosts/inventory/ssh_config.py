"""Parse OpenSSH's client configuration (ssh_config(5)).

For every alias, the first value in any block with a matching pattern is used. `Match` and `Include` depend on
the machine with the file: their content is not read, and they do not affect the aliases below. IdentityFile
is not read either: private keys are entered by hand.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from fnmatch import translate

from culprit.hosts.inventory.candidate import MAX_ROWS, Candidate, parse_port, split_lines
from culprit.web.errors import InvalidRequestError

OPTION_LINE = re.compile(r"^\s*([A-Za-z]+)(?:\s*=\s*|\s+)(.*?)\s*$")
KEYWORDS = {"hostname", "port", "user", "proxyjump", "proxycommand"}
MAX_PATTERNS = 1000
WILDCARDS = frozenset("*?!")


@dataclass(slots=True)
class Block:
    """A Host section: its patterns and the first value of each keyword in it."""

    line: int
    patterns: list[str]
    values: dict[str, str] = field(default_factory=dict)

    @property
    def wildcard_patterns(self) -> list[str]:
        """Return the patterns with wildcards."""
        return [pattern for pattern in self.patterns if set(pattern) & WILDCARDS]


@dataclass(frozen=True, slots=True)
class Section:
    """A Host section with wildcards, compiled for comparison with many aliases."""

    block: Block
    hits: tuple[re.Pattern[str], ...]
    misses: tuple[re.Pattern[str], ...]

    @classmethod
    def compile_block(cls, block: Block) -> Section:
        """Compile a section; brackets have no special meaning in OpenSSH's patterns."""
        compiled = [
            (pattern.startswith("!"), re.compile(translate(pattern.removeprefix("!").replace("[", "[[]"))))
            for pattern in block.patterns
        ]
        return cls(
            block,
            tuple(item for negated, item in compiled if not negated),
            tuple(item for negated, item in compiled if negated),
        )

    def matches(self, alias: str) -> bool:
        """Return whether the section applies to an alias: a pattern matches, and no negated one does."""
        return any(hit.match(alias) for hit in self.hits) and not any(
            miss.match(alias) for miss in self.misses
        )


def parse_hosts(text: str) -> list[Candidate]:
    """Return the hosts of a configuration, in the order of the file."""
    blocks = _parse_blocks(text)
    wild = [block for block in blocks if block.wildcard_patterns]
    if sum(len(block.patterns) for block in wild) > MAX_PATTERNS:
        raise InvalidRequestError("import.too_many_patterns", limit=MAX_PATTERNS)
    sections = [Section.compile_block(block) for block in wild]
    exact: dict[str, list[Block]] = {}
    for block in blocks:
        for alias in () if block.wildcard_patterns else block.patterns:
            exact.setdefault(alias, []).append(block)
    first: dict[str, int] = {}
    for block in blocks:
        for alias in block.patterns:
            if not set(alias) & WILDCARDS:
                first.setdefault(alias, block.line)
                if len(first) > MAX_ROWS:
                    raise InvalidRequestError("import.too_many", limit=MAX_ROWS)
    results = []
    for alias, line in first.items():
        matching = [section.block for section in sections if section.matches(alias)]
        relevant = sorted((*matching, *exact.get(alias, ())[:20]), key=lambda block: block.line)
        results.append(_build_candidate(alias, line, relevant))
    return results


def _parse_blocks(text: str) -> list[Block]:
    top = Block(0, ["*"])
    blocks, current = [top], top
    for number, line in enumerate(split_lines(text), 1):
        if line.lstrip().startswith("#"):
            continue
        match = OPTION_LINE.match(line)
        if match is None:
            continue
        keyword, rest = match[1].lower(), match[2]
        if keyword == "host":
            current = Block(number, _split_line(rest))
            blocks.append(current)
        elif keyword == "match":
            current = Block(number, [])  # what follows applies to no alias
        elif keyword in KEYWORDS:
            words = _split_line(rest)
            if words:
                current.values.setdefault(keyword, words[0])
    return blocks


def _split_line(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=False)
    except ValueError:
        return text.split()


def _build_candidate(alias: str, line: int, blocks: list[Block]) -> Candidate:
    values: dict[str, str] = {}
    for block in blocks:
        for keyword, value in block.values.items():
            values.setdefault(keyword, value)
    address = values.get("hostname", alias).replace("%h", alias).replace("%%", "%")
    port = parse_port(values.get("port", "22"))
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
