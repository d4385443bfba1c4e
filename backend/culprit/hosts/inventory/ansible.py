"""Ansible inventories, INI and YAML (docs.ansible.com, "How to build your inventory").

Read are groups, children, host ranges as in web[01:20], and the variables ansible_host, ansible_port and
ansible_user. The group that a host stands in becomes its label `group`. Passwords are not read.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from culprit.hosts.inventory.candidate import MAX_ROWS, Candidate, bounded, lines_of, port_of
from culprit.kit.errors import Invalid

SECTION = re.compile(r"^\[([^\]:]{1,200})(?::(vars|children))?\]$")
RANGE = re.compile(r"\[(\w{1,10}):(\w{1,10})(?::(\d{1,5}))?\]")
ADDRESS, PORT, USER = "ansible_host", "ansible_port", "ansible_user"
OLD = {"ansible_ssh_host": ADDRESS, "ansible_ssh_port": PORT, "ansible_ssh_user": USER}
IMPLICIT = {"all", "ungrouped"}
MAX_DEPTH = 20
MAX_YAML = 300_000  # characters; the reader is slow


@dataclass(slots=True)
class Inventory:
    """Hosts with their line, variables and first group; variables and parents of groups."""

    hosts: dict[str, tuple[int, dict[str, str], str]] = field(default_factory=dict)
    variables: dict[str, dict[str, str]] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)

    def add(self, line: int, name: str, variables: Mapping[str, str], group: str) -> None:
        """A host in a group; what was said earlier is completed."""
        if name in self.hosts:
            first, known, own = self.hosts[name]
            merged = {**known, **variables}
            self.hosts[name] = (first, merged, own if own not in IMPLICIT else group)
            return
        self.hosts[name] = (line, dict(variables), group)
        if len(self.hosts) > MAX_ROWS:
            raise Invalid("import.too_many", limit=MAX_ROWS)

    def candidates(self) -> list[Candidate]:
        """All hosts, with the variables of their groups beneath their own."""
        return bounded([self._candidate(name, *about) for name, about in self.hosts.items()])

    def _candidate(self, name: str, line: int, own: dict[str, str], group: str) -> Candidate:
        values: dict[str, str] = {}
        at: str | None = group
        for _ in range(MAX_DEPTH):
            if at is None:
                break
            values = {**self.variables.get(at, {}), **values}
            at = self.parents.get(at)
        values = {**self.variables.get("all", {}), **values, **own}
        port = port_of(values[PORT]) if PORT in values else None
        templated = any("{{" in values.get(key, "") for key in (ADDRESS, PORT, USER))
        problem = "import.template" if templated else None
        if problem is None and PORT in values and port is None:
            problem = "import.port_unreadable"
        labels = {} if group in IMPLICIT else {"group": group}
        return Candidate(
            line, name, values.get(ADDRESS, name), port, values.get(USER), labels, problem=problem
        )


def read(text: str) -> list[Candidate]:
    """The hosts of an inventory; whether it is INI or YAML is seen from its first lines."""
    lines = lines_of(text)
    first = next((line for line in lines if line.strip() and not line.lstrip().startswith(("#", ";"))), "")
    looks_yaml = first.strip() == "---" or re.match(r"^[\w.-]+:\s*(#.*)?$", first) is not None
    return (_yaml(text) if looks_yaml else _ini(lines)).candidates()


def _ini(lines: list[str]) -> Inventory:
    inventory = Inventory()
    group, kind = "ungrouped", ""
    for number, raw in enumerate(lines, 1):
        line = raw.strip()
        if not line or line.startswith(("#", ";")):
            continue
        section = SECTION.match(line)
        if section is not None:
            group, kind = section[1], section[2] or ""
        elif kind == "vars":
            name, _, value = line.partition("=")
            _set(inventory.variables.setdefault(group, {}), name.strip(), value.strip().strip("'\""))
        elif kind == "children":
            inventory.parents.setdefault(line.split()[0], group)
        else:
            words = _words(line, number)
            variables: dict[str, str] = {}
            for word in words[1:]:
                name, _, value = word.partition("=")
                _set(variables, name, value)
            for host in expand(words[0], number):
                inventory.add(number, host, variables, group)
    return inventory


def _words(line: str, number: int) -> list[str]:
    try:
        return shlex.split(line, comments=True) or [""]
    except ValueError:
        raise Invalid("import.line_unreadable", line=number) from None


def _set(variables: dict[str, str], name: str, value: str) -> None:
    name = OLD.get(name, name)
    if name in {ADDRESS, PORT, USER}:
        variables[name] = value[:300]


def expand(pattern: str, line: int = 0) -> Iterator[str]:
    """web[01:03] → web01, web02, web03; letters too. Raises Invalid for more than can be looked through."""
    found = RANGE.search(pattern)
    if found is None:
        yield pattern
        return
    low, high, step = found[1], found[2], int(found[3] or 1) or 1
    if low.isdecimal() and high.isdecimal():
        span = range(int(low), int(high) + 1, step)
        width = len(low) if low.startswith("0") else 0
        items: list[str] | Iterator[str] = (str(n).zfill(width) for n in span)
    elif len(low) == len(high) == 1 and low.isascii() and high.isascii():
        span = range(ord(low), ord(high) + 1, step)
        items = (chr(n) for n in span)
    else:
        raise Invalid("import.line_unreadable", line=line)
    if len(span) > MAX_ROWS or len(RANGE.findall(pattern)) > 3:
        raise Invalid("import.too_many", limit=MAX_ROWS)
    for item in items:
        yield from expand(pattern[: found.start()] + item + pattern[found.end() :], line)


class _Loader(yaml.SafeLoader):
    """YAML without aliases: a few of them can stand for more than memory holds."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        """One node; refuses an alias."""
        if self.check_event(yaml.events.AliasEvent):
            raise yaml.YAMLError("aliases are not read")
        return super().compose_node(parent, index)


def _yaml(text: str) -> Inventory:
    if len(text) > MAX_YAML:
        raise Invalid("import.too_large", limit=MAX_YAML)
    try:
        node = _Loader(text).get_single_node()
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        raise Invalid("import.yaml_unreadable", line=(mark.line + 1) if mark else 1) from None
    inventory = Inventory()
    todo: list[tuple[str, Any, int]] = [(key, value, 0) for key, value in _pairs(node)]
    while todo:
        group, body, depth = todo.pop(0)
        if depth > MAX_DEPTH:
            raise Invalid("import.yaml_too_deep", line=body.start_mark.line + 1)
        for part, value in _pairs(body):
            if part == "hosts":
                for host, variables in _pairs(value):
                    line = variables.start_mark.line + 1
                    for name in expand(host, line):
                        inventory.add(line, name, _scalars(variables), group)
            elif part == "vars":
                inventory.variables[group] = _scalars(value)
            elif part == "children":
                for child, inner in _pairs(value):
                    inventory.parents.setdefault(child, group)
                    todo.append((child, inner, depth + 1))
    return inventory


def _pairs(node: Any) -> Iterator[tuple[str, Any]]:
    """The entries of a mapping whose keys are plain; anything else has none."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                yield str(key.value), value


def _scalars(node: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in _pairs(node):
        if isinstance(value, yaml.ScalarNode):
            _set(found, key, str(value.value))
    return found
