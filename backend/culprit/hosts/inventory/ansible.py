"""Parse Ansible inventories, INI and YAML (docs.ansible.com, "How to build your inventory").

Supported are groups, children, host ranges as in web[01:20], and the variables ansible_host, ansible_port and
ansible_user. The group of a host becomes its label `group`. Passwords are not read.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from culprit.hosts.inventory.candidate import MAX_ROWS, Candidate, limit_candidates, parse_port, split_lines
from culprit.web.errors import InvalidRequestError

SECTION_PATTERN = re.compile(r"^\[([^\]:]{1,200})(?::(vars|children))?\]$")
RANGE_PATTERN = re.compile(r"\[(\w{1,10}):(\w{1,10})(?::(\d{1,5}))?\]")
ADDRESS, PORT, USER = "ansible_host", "ansible_port", "ansible_user"
OLD_NAMES = {"ansible_ssh_host": ADDRESS, "ansible_ssh_port": PORT, "ansible_ssh_user": USER}
IMPLICIT_GROUPS = {"all", "ungrouped"}
MAX_DEPTH = 20
MAX_YAML = 300_000  # characters; the parser is slow


@dataclass(slots=True)
class Inventory:
    """Hosts with their line, variables and first group; variables and parents of groups."""

    hosts: dict[str, tuple[int, dict[str, str], str]] = field(default_factory=dict)
    variables: dict[str, dict[str, str]] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)

    def add(self, line: int, name: str, variables: Mapping[str, str], group: str) -> None:
        """Add a host to a group; existing values are kept."""
        if name in self.hosts:
            first, known, own = self.hosts[name]
            merged = {**known, **variables}
            self.hosts[name] = (first, merged, own if own not in IMPLICIT_GROUPS else group)
            return
        self.hosts[name] = (line, dict(variables), group)
        if len(self.hosts) > MAX_ROWS:
            raise InvalidRequestError("import.too_many", limit=MAX_ROWS)

    def candidates(self) -> list[Candidate]:
        """Return all hosts, with variables of their groups as defaults."""
        return limit_candidates([self._candidate(name, *about) for name, about in self.hosts.items()])

    def _candidate(self, name: str, line: int, own: dict[str, str], group: str) -> Candidate:
        values: dict[str, str] = {}
        at: str | None = group
        for _ in range(MAX_DEPTH):
            if at is None:
                break
            values = {**self.variables.get(at, {}), **values}
            at = self.parents.get(at)
        values = {**self.variables.get("all", {}), **values, **own}
        port = parse_port(values[PORT]) if PORT in values else None
        templated = any("{{" in values.get(key, "") for key in (ADDRESS, PORT, USER))
        problem = "import.template" if templated else None
        if problem is None and PORT in values and port is None:
            problem = "import.port_unreadable"
        labels = {} if group in IMPLICIT_GROUPS else {"group": group}
        return Candidate(
            line, name, values.get(ADDRESS, name), port, values.get(USER), labels, problem=problem
        )


def parse_hosts(text: str) -> list[Candidate]:
    """Parse an inventory; its first lines determine whether it is INI or YAML."""
    lines = split_lines(text)
    first = next((line for line in lines if line.strip() and not line.lstrip().startswith(("#", ";"))), "")
    checks_yaml = first.strip() == "---" or re.match(r"^[\w.-]+:\s*(#.*)?$", first) is not None
    return (_parse_yaml(text) if checks_yaml else _parse_ini(lines)).candidates()


def _parse_ini(lines: list[str]) -> Inventory:
    inventory = Inventory()
    group, kind = "ungrouped", ""
    for number, raw in enumerate(lines, 1):
        line = raw.strip()
        if not line or line.startswith(("#", ";")):
            continue
        section = SECTION_PATTERN.match(line)
        if section is not None:
            group, kind = section[1], section[2] or ""
        elif kind == "vars":
            name, _, value = line.partition("=")
            _set_variable(inventory.variables.setdefault(group, {}), name.strip(), value.strip().strip("'\""))
        elif kind == "children":
            inventory.parents.setdefault(line.split()[0], group)
        else:
            words = _split_words(line, number)
            variables: dict[str, str] = {}
            for word in words[1:]:
                name, _, value = word.partition("=")
                _set_variable(variables, name, value)
            for host in expand_range(words[0], number):
                inventory.add(number, host, variables, group)
    return inventory


def _split_words(line: str, number: int) -> list[str]:
    try:
        return shlex.split(line, comments=True) or [""]
    except ValueError:
        raise InvalidRequestError("import.line_unreadable", line=number) from None


def _set_variable(variables: dict[str, str], name: str, value: str) -> None:
    name = OLD_NAMES.get(name, name)
    if name in {ADDRESS, PORT, USER}:
        variables[name] = value[:300]


def expand_range(pattern: str, line: int = 0) -> Iterator[str]:
    """Expand web[01:03] to web01, web02, web03; letters too. Raises InvalidRequestError for too many hosts."""
    match = RANGE_PATTERN.search(pattern)
    if match is None:
        yield pattern
        return
    low, high, step = match[1], match[2], int(match[3] or 1) or 1
    if low.isdecimal() and high.isdecimal():
        span = range(int(low), int(high) + 1, step)
        width = len(low) if low.startswith("0") else 0
        items: list[str] | Iterator[str] = (str(n).zfill(width) for n in span)
    elif len(low) == len(high) == 1 and low.isascii() and high.isascii():
        span = range(ord(low), ord(high) + 1, step)
        items = (chr(n) for n in span)
    else:
        raise InvalidRequestError("import.line_unreadable", line=line)
    if len(span) > MAX_ROWS or len(RANGE_PATTERN.findall(pattern)) > 3:
        raise InvalidRequestError("import.too_many", limit=MAX_ROWS)
    for item in items:
        yield from expand_range(pattern[: match.start()] + item + pattern[match.end() :], line)


class _Loader(yaml.SafeLoader):
    """YAML without aliases: a few of them can expand to more than memory holds."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Return a node; refuse an alias."""
        if self.check_event(yaml.events.AliasEvent):
            raise yaml.YAMLError("aliases are not read")
        return super().compose_node(parent, index)


def _parse_yaml(text: str) -> Inventory:
    if len(text) > MAX_YAML:
        raise InvalidRequestError("import.too_large", limit=MAX_YAML)
    try:
        node = _Loader(text).get_single_node()
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        raise InvalidRequestError("import.yaml_unreadable", line=(mark.line + 1) if mark else 1) from None
    inventory = Inventory()
    todo: list[tuple[str, Any, int]] = [(key, value, 0) for key, value in _iter_pairs(node)]
    while todo:
        group, body, depth = todo.pop(0)
        if depth > MAX_DEPTH:
            raise InvalidRequestError("import.yaml_too_deep", line=body.start_mark.line + 1)
        for part, value in _iter_pairs(body):
            if part == "hosts":
                for host, variables in _iter_pairs(value):
                    line = variables.start_mark.line + 1
                    for name in expand_range(host, line):
                        inventory.add(line, name, _to_scalars(variables), group)
            elif part == "vars":
                inventory.variables[group] = _to_scalars(value)
            elif part == "children":
                for child, inner in _iter_pairs(value):
                    inventory.parents.setdefault(child, group)
                    todo.append((child, inner, depth + 1))
    return inventory


def _iter_pairs(node: Any) -> Iterator[tuple[str, Any]]:
    """Yield the entries of a mapping with plain keys; other values have none."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                yield str(key.value), value


def _to_scalars(node: Any) -> dict[str, str]:
    results: dict[str, str] = {}
    for key, value in _iter_pairs(node):
        if isinstance(value, yaml.ScalarNode):
            _set_variable(results, key, str(value.value))
    return results
