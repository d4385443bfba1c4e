"""Rules that drop, as the host picked them out of iptables-save and nft.

Lines, made by the awk programs of `collectors.catalog.firewall`, with `-` for what is not counted:

    backend nft|legacy|nftables [FAMILY]
    rule  BACKEND FAMILY TABLE CHAIN PACKETS TEXT...
    chain BACKEND FAMILY TABLE CHAIN POLICY POLICY_PACKETS PASSED RULES
    lines COUNT
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from collectors.parse.sampled import Snapshot
from collectors.parse.tokens import NAN, amount, counter, whole, words

_MAX_LINES = 5_000
_VERDICT = re.compile(rb"(?:\A|\s)(?:-j )?(DROP|REJECT|TARPIT|drop|reject)\b")
_PROBABILITY = re.compile(rb"--probability (\d(?:\.\d{1,12})?)")
_NUMGEN = re.compile(rb"numgen random mod (\d{1,10}) <=? (\d{1,10})\b")
_META = re.compile(rb"meta random & (\d{1,10}) < (\d{1,10})\b")

ChainKey = tuple[str, str, str, str]  # backend, family, table, chain


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; NaN where it counts nothing or is not random."""

    chain: ChainKey
    verdict: str
    matches: str
    packets: float
    probability: float
    line: int


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain that holds such a rule; `dropped` is what its policy decided on."""

    policy: str
    dropped: float
    passed: float
    line: int


@dataclass(slots=True)
class Rules:
    """One reading. Rules are known by their chain, their text, and how many like them came before."""

    rules: dict[tuple[ChainKey, str, int], Rule] = field(default_factory=dict)
    chains: dict[ChainKey, Chain] = field(default_factory=dict)
    backends: list[str] = field(default_factory=list)
    lines: int = 0


def read(snapshot: Snapshot) -> Rules:
    """All that one reading says; lines that say nothing are left out."""
    found = Rules()
    alike: dict[tuple[ChainKey, str], int] = {}
    for at, line in enumerate(snapshot.lines()[:_MAX_LINES], snapshot.line):
        tokens = line[:1000].split(None, 6)
        if not tokens:
            continue
        if tokens[0] == b"backend" and 2 <= len(tokens) <= 3:
            found.backends.append(words(b" ".join(tokens[1:]), 40))
        elif tokens[0] == b"lines" and len(tokens) == 2:
            found.lines += whole(tokens[1]) or 0
        elif tokens[0] == b"rule" and len(tokens) == 7:
            rule = _rule(_key(tokens), tokens[5], tokens[6], at)
            nth = alike[rule.chain, rule.matches] = alike.get((rule.chain, rule.matches), 0) + 1
            found.rules[rule.chain, rule.matches, nth] = rule
        elif tokens[0] == b"chain" and len(tokens) == 7:
            rest = tokens[6].split()
            if len(rest) == 3:
                dropped, passed = counter(rest[0]), counter(rest[1])
                found.chains[_key(tokens)] = Chain(words(tokens[5], 16), dropped, passed, at)
    return found


def _key(tokens: list[bytes]) -> ChainKey:
    backend, family, table, chain = (words(token, 64) for token in tokens[1:5])
    return backend, family, table, chain


def _rule(chain: ChainKey, packets: bytes, text: bytes, line: int) -> Rule:
    verdict = _VERDICT.search(text)
    shown = words(verdict[1], 10).upper() if verdict else "RANDOM"
    return Rule(chain, shown, words(text.strip(), 400), counter(packets), _probability(text), line)


def _probability(text: bytes) -> float:
    """The chance that a random rule acts; NaN for a rule that always does."""
    if told := _PROBABILITY.search(text):
        return amount(told[1])
    for pattern, wide in ((_NUMGEN, 0), (_META, 1)):
        if (told := pattern.search(text)) and int(told[1]) > 0:
            return min(1.0, int(told[2]) / (int(told[1]) + wide))
    return NAN
