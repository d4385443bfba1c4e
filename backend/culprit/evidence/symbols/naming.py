"""Explain, by module, why functions of a profile have no names."""

from __future__ import annotations

from collections.abc import Collection

from culprit.evidence.symbols.queries import SymbolFetch
from culprit.json_types import Json

MAX_UNNAMED = 100
#: Message by state of a fetched file; in any other state the file no longer exists on the host.
_REASONS = {
    "too_large": "naming.too_large", "no_sections": "naming.stripped", "not_elf": "naming.no_program",
    "unreadable": "naming.unreadable",
}  # fmt: skip


def explain_naming(modules: Json, stored_keys: Collection[str], fetch: SymbolFetch) -> Json:
    """Return {unnamed: [{module, reason}]}: modules without any symbol, those with the most samples first.

    `modules` is the result of `culprit.evidence.parsing.parse_profile`, `stored_keys` the keys of the symbol files
    that the parser had.
    """
    unnamed = [
        {
            "module": module["path"],
            "reason": _find_reason(module, stored_keys, fetch),
            "samples": module["samples"],
        }
        for module in modules["modules"]
        if not module["symbols"]
    ]
    if modules["kernel_samples"] and not modules["kernel_symbols"]:
        hidden = {"key": "naming.kernel_hidden", "params": {}}
        unnamed.append({"module": "[kernel]", "reason": hidden, "samples": modules["kernel_samples"]})
    unnamed.sort(key=lambda item: -item["samples"])
    return {
        "unnamed": [{"module": item["module"], "reason": item["reason"]} for item in unnamed[:MAX_UNNAMED]]
    }


def _find_reason(module: Json, stored_keys: Collection[str], fetch: SymbolFetch) -> Json:
    if module["is_anonymous"]:
        return {"key": "naming.generated", "params": {}}
    if module["key"] is None:
        return {"key": "naming.no_file", "params": {}}
    if module["key"] in stored_keys:
        return {"key": "naming.stripped", "params": {}}
    state = fetch.states.get(module["key"])
    if state is None:
        return fetch.failure or {"key": "naming.not_fetched", "params": {}}
    return {"key": _REASONS.get(state, "naming.gone"), "params": {}}
