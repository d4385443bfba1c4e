"""Explain, by module, why functions of a profile have no names."""

from __future__ import annotations

import re
from collections.abc import Collection

from culprit.evidence.symbols.queries import SymbolFetch
from culprit.json_types import Json

MAX_UNNAMED = 100
#: Message by state of a fetched file; in any other state the file no longer exists on the host.
_REASONS = {
    "too_large": "naming.too_large", "no_sections": "naming.stripped", "not_elf": "naming.no_program",
    "unreadable": "naming.unreadable",
}  # fmt: skip
#: Message by answer of the debuginfod servers for a stripped program; without an answer, none was requested.
_DEBUG_REASONS = {
    "absent": "naming.debug_absent", "mismatch": "naming.debug_mismatch", "no_symbols": "naming.debug_absent",
    "too_large": "naming.debug_too_large", "unreadable": "naming.debug_unreadable", "limit": "naming.debug_limit",
}  # fmt: skip

_MAP = re.compile(r"perf-(\d{1,9})\.map$")


def explain_naming(
    modules: Json, stored_keys: Collection[str], fetch: SymbolFetch, debug_fetch: SymbolFetch
) -> Json:
    """Return {unnamed: [{module, reason}]}: modules without any symbol, those with the most samples first.

    Generated code is among them if the map of its compiler has some of it. What the path of a module explains, such as
    `[vdso]`, is not.

    `modules` is the result of `culprit.evidence.parsing.parse_profile`, `stored_keys` the keys of the symbol files
    that the parser had. `fetch` is of the host, `debug_fetch` of debuginfod servers.
    """
    unnamed = [
        {
            "module": module["path"],
            "reason": _find_reason(module, stored_keys, fetch, debug_fetch),
            "samples": module["samples"],
        }
        for module in modules["modules"]
        if _is_unnamed(module)
    ]
    if modules["kernel_samples"] and not modules["kernel_symbols"]:
        hidden = {"key": "naming.kernel_hidden", "params": {}}
        unnamed.append({"module": "[kernel]", "reason": hidden, "samples": modules["kernel_samples"]})
    unnamed.sort(key=lambda item: -item["samples"])
    return {
        "unnamed": [{"module": item["module"], "reason": item["reason"]} for item in unnamed[:MAX_UNNAMED]]
    }


def _is_unnamed(module: Json) -> bool:
    if module["is_anonymous"]:
        return not module["symbols"] or module["unnamed_samples"] > 0
    return not module["symbols"] and (module["key"] is not None or module["path"].startswith("/"))


def _find_reason(
    module: Json, stored_keys: Collection[str], fetch: SymbolFetch, debug_fetch: SymbolFetch
) -> Json:
    if module["is_anonymous"]:
        return _find_generated_reason(module, fetch)
    if module["key"] is None:
        return {"key": "naming.no_file", "params": {}}
    if module["key"] in stored_keys:
        return _explain_stripped(debug_fetch, module["key"])
    state = fetch.states.get(module["key"])
    if state is None:
        return fetch.failure or {"key": "naming.not_fetched", "params": {}}
    return {"key": _REASONS.get(state, "naming.gone"), "params": {}}


def _explain_stripped(debug_fetch: SymbolFetch, key: str) -> Json:
    state = debug_fetch.states.get(key)
    if debug_fetch.failure and (state == "failed" or not debug_fetch.states):
        return debug_fetch.failure
    return {"key": _DEBUG_REASONS.get(state or "", "naming.stripped"), "params": {}}


def _find_generated_reason(module: Json, fetch: SymbolFetch) -> Json:
    """Return why code of a compiler has no name. Its module is named after the map: `/tmp/perf-PID.map`."""
    if module["symbols"]:
        return {"key": "naming.map_old", "params": {}}
    match = _MAP.search(module["path"])
    if fetch.failure and not (match and f"map-{match[1]}" in fetch.states):
        return fetch.failure
    return {"key": "naming.generated", "params": {}}
