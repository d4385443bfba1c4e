"""Rules that drop, as the host picked them out of iptables-save and nft.

Lines, made by the awk programs of `collectors.catalog.network.firewall`, with `-` for what is not counted:

    backend nft|legacy|nftables [FAMILY]
    rule  BACKEND FAMILY TABLE CHAIN PACKETS TEXT...
    chain BACKEND FAMILY TABLE CHAIN POLICY POLICY_PACKETS PASSED RULES
    lines COUNT
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from collectors.parse.proc.sampled import Snapshot
from collectors.parse.tables.tokens import NAN, parse_amount, parse_counter, parse_whole, to_text

_MAX_LINES = 5_000
_VERDICT = re.compile(rb"(?:\A|\s)(?:-j )?(DROP|REJECT|TARPIT|drop|reject)\b")
_PROBABILITY = re.compile(rb"--probability (\d(?:\.\d{1,12})?)")
_NUMGEN = re.compile(rb"numgen random mod (\d{1,10}) <=? (\d{1,10})\b")
_META = re.compile(rb"meta random & (\d{1,10}) < (\d{1,10})\b")

ChainKey = tuple[str, str, str, str]  # backend, family, table, chain


@dataclass(frozen=True, slots=True)
class FirewallRule:
    """One rule; NaN where it counts nothing or is not random."""

    chain: ChainKey
    verdict: str
    matches: str
    packets: float
    probability: float
    line: int


@dataclass(frozen=True, slots=True)
class FirewallChain:
    """A chain that holds such a rule; `dropped` is what its policy decided on."""

    policy: str
    dropped: float
    passed: float
    line: int


@dataclass(slots=True)
class FirewallRules:
    """One reading. Rules are known by their chain, their text, and how many like them came before."""

    rules: dict[tuple[ChainKey, str, int], FirewallRule] = field(default_factory=dict)
    chains: dict[ChainKey, FirewallChain] = field(default_factory=dict)
    backends: list[str] = field(default_factory=list)
    lines: int = 0


def parse_firewall_rules(snapshot: Snapshot) -> FirewallRules:
    """Return the records of one reading. Lines without a record are left out."""
    firewall_rules = FirewallRules()
    alike: dict[tuple[ChainKey, str], int] = {}
    for at, line in enumerate(snapshot.lines()[:_MAX_LINES], snapshot.line):
        tokens = line[:1000].split(None, 6)
        if not tokens:
            continue
        if tokens[0] == b"backend" and 2 <= len(tokens) <= 3:
            firewall_rules.backends.append(to_text(b" ".join(tokens[1:]), 40))
        elif tokens[0] == b"lines" and len(tokens) == 2:
            firewall_rules.lines += parse_whole(tokens[1]) or 0
        elif tokens[0] == b"rule" and len(tokens) == 7:
            rule = _parse_rule(_rule_key(tokens), tokens[5], tokens[6], at)
            nth = alike[rule.chain, rule.matches] = alike.get((rule.chain, rule.matches), 0) + 1
            firewall_rules.rules[rule.chain, rule.matches, nth] = rule
        elif tokens[0] == b"chain" and len(tokens) == 7:
            rest = tokens[6].split()
            if len(rest) == 3:
                dropped, passed = parse_counter(rest[0]), parse_counter(rest[1])
                firewall_rules.chains[_rule_key(tokens)] = FirewallChain(
                    to_text(tokens[5], 16), dropped, passed, at
                )
    return firewall_rules


def _rule_key(tokens: list[bytes]) -> ChainKey:
    backend, family, table, chain = (to_text(token, 64) for token in tokens[1:5])
    return backend, family, table, chain


def _parse_rule(chain: ChainKey, packets: bytes, text: bytes, line: int) -> FirewallRule:
    verdict = _VERDICT.search(text)
    displayed = to_text(verdict[1], 10).upper() if verdict else "RANDOM"
    return FirewallRule(
        chain, displayed, to_text(text.strip(), 400), parse_counter(packets), _parse_probability(text), line
    )


def _parse_probability(text: bytes) -> float:
    """The chance that a random rule acts; NaN for a rule that always does."""
    if match := _PROBABILITY.search(text):
        return parse_amount(match[1])
    for pattern, wide in ((_NUMGEN, 0), (_META, 1)):
        if (match := pattern.search(text)) and int(match[1]) > 0:
            return min(1.0, int(match[2]) / (int(match[1]) + wide))
    return NAN
