"""Why functions of a profile have no names, by module."""

from __future__ import annotations

from collections.abc import Collection

from culprit.evidence.symbols.queries import SymbolFetch
from culprit.json_types import Json

MAX_UNNAMED = 100
#: States of fetched files by message; every other state means that the file was not there any more.
_REASONS = {
    "too_large": "naming.too_large", "no_sections": "naming.stripped", "not_elf": "naming.no_program",
    "unreadable": "naming.unreadable",
}  # fmt: skip


def explain_naming(modules: Json, stored_keys: Collection[str], fetch: SymbolFetch) -> Json:
    """Return {unnamed: [{module, reason}]}: modules without any symbol, those with most of the recording first.

    `modules` are those of `culprit.evidence.parsing.parse_profile`, `stored_keys` those whose files it had.
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
