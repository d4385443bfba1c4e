"""Check that code fills every placeholder of the messages that it names: `python -m tools.checks.message_lint`."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from culprit.domain.messages import load_messages
from culprit.domain.messages.collector_messages import register_collector_messages
from culprit.launcher.paths import ROOT

PLACEHOLDER = re.compile(r"\{(\w+)\}")
FOLDERS = ("backend/culprit", "collectors")
#: Parameters that the rule engine adds when it decides about a finding, by the area of the key.
ADDED_BY_RULES = {"guard": frozenset({"value"}), "doubt": frozenset({"value"})}
#: Parameters that an exception adds itself.
ADDED_BY_ERRORS = {"OverloadedError": frozenset({"retry_after_s"})}
#: Exceptions whose first argument is the end of a key, with the beginning of that key.
KEY_PREFIXES = {"SshError": "ssh.", "OutgoingError": "outgoing."}


@dataclass(frozen=True, slots=True)
class MessageUse:
    """A message that code names by a literal key; `params` is None where they are not literal."""

    path: str
    line: int
    key: str
    params: frozenset[str] | None


def literal_params(node: ast.expr | None) -> frozenset[str] | None:
    """Return the keys of a dict display, or None where one of them is computed."""
    if node is None:
        return frozenset()
    if not isinstance(node, ast.Dict):
        return None
    keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
    return None if None in keys else frozenset(map(str, keys))


def params_of_call(call: ast.Call) -> frozenset[str] | None:
    """Return the parameters that a call gives to its message, or None where one of them is computed."""
    rest = call.args[1:]
    if any(not isinstance(argument, ast.Dict) for argument in rest):
        return None
    if any(keyword.arg is None for keyword in call.keywords):
        return None
    params = literal_params(rest[0] if rest else None)
    for keyword in call.keywords:
        if keyword.arg == "params":
            params = literal_params(keyword.value)
        elif params is not None and keyword.arg is not None:
            params |= {keyword.arg}
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    return params if params is None else params | ADDED_BY_ERRORS.get(name, frozenset())


def uses_in(path: str, source: str) -> Iterator[MessageUse]:
    """Yield the calls with a literal key as first argument, and the dicts with `key` and `params`."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(args=[ast.Constant(value=str() as key), *rest]) if len(rest) <= 2:
                prefix = KEY_PREFIXES.get(ast.unparse(node.func), "")
                yield MessageUse(path, node.lineno, prefix + key, params_of_call(node))
            case ast.Dict(keys=keys, values=values):
                entries = {
                    key.value: value
                    for key, value in zip(keys, values, strict=True)
                    if isinstance(key, ast.Constant)
                }
                name = entries.get("key")
                if isinstance(name, ast.Constant) and isinstance(name.value, str) and "params" in entries:
                    yield MessageUse(path, node.lineno, name.value, literal_params(entries["params"]))


def find_unfilled(root: Path = ROOT) -> list[str]:
    """Return one line per message whose placeholders a literal use leaves empty."""
    register_collector_messages()
    messages = load_messages("en")
    problems = []
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*.py")):
            if "tests" in file.parts:
                continue
            path = str(file.relative_to(root))
            for use in uses_in(path, file.read_text("utf-8")):
                if use.key not in messages or use.params is None:
                    continue
                missing = set(PLACEHOLDER.findall(messages[use.key])) - use.params
                missing -= ADDED_BY_RULES.get(use.key.partition(".")[0], frozenset())
                if missing:
                    problems.append(f"{path}:{use.line}: {use.key} needs {', '.join(sorted(missing))}")
    return problems


if __name__ == "__main__":
    problems = find_unfilled()
    sys.stdout.write(
        "".join(f"{line}\n" for line in problems) + f"{len(problems)} messages with empty placeholders\n"
    )
    sys.exit(bool(problems))
