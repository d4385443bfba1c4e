"""OpenSSH's known_hosts (sshd(8)): addresses with their public keys.

Hashed names cannot be turned back, patterns name no host, @revoked keys must not be trusted, and a
@cert-authority is no host's own key; such lines get a verdict that says so. Of several keys of one host the
best is taken: ed25519, then ecdsa, then rsa.
"""

from __future__ import annotations

import base64
import binascii

from culprit.hosts.inventory.candidate import Candidate, bounded, lines_of, port_of
from culprit.infra.ssh_keys import fingerprint

ORDER = ("ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa")


def read(text: str) -> list[Candidate]:
    """One candidate per host, and one per line that names none."""
    best: dict[tuple[str, int], Candidate] = {}
    unusable: list[Candidate] = []
    for number, line in enumerate(lines_of(text), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        marker = words.pop(0) if words[0].startswith("@") else ""
        if len(words) < 3:
            unusable.append(
                Candidate(number, words[0] if words else marker, problem="import.line_unreadable")
            )
            continue
        names, kind, blob = words[:3]
        problem = _problem(marker, names, kind, blob)
        if problem is not None:
            shown = "(hashed)" if names.startswith("|") else names[:100]
            unusable.append(
                Candidate(number, shown, problem=problem, incomplete=problem == "import.hashed_name")
            )
            continue
        candidate = _candidate(number, names.split(","), kind, blob)
        place = (candidate.address, candidate.port or 22)
        known = best.get(place)
        if known is None or _rank(candidate) < _rank(known):
            best[place] = candidate
    return bounded(sorted([*best.values(), *unusable], key=lambda one: one.line))


def _rank(candidate: Candidate) -> int:
    assert candidate.host_key is not None
    return ORDER.index(candidate.host_key.split()[0])


def _problem(marker: str, names: str, kind: str, blob: str) -> str | None:
    if marker:
        return "import.key_revoked" if marker == "@revoked" else "import.cert_authority"
    if names.startswith("|"):
        return "import.hashed_name"
    if set(names) & set("*?!"):
        return "import.pattern"
    if kind not in ORDER:
        return "import.key_kind"
    try:
        data = base64.b64decode(blob, validate=True)
    except (binascii.Error, ValueError):
        return "import.key_unreadable"
    length = int.from_bytes(data[:4], "big")
    return None if data[4 : 4 + length] == kind.encode() else "import.key_unreadable"


def _candidate(line: int, names: list[str], kind: str, blob: str) -> Candidate:
    """The first name is the host's, and the address too: known_hosts lists a name before its addresses."""
    first, port = names[0], 22
    problem = None
    if first.startswith("["):
        inner, _, text = first[1:].partition("]:")
        port_text = port_of(text)
        problem = None if port_text else "import.port_unreadable"
        first, port = inner, port_text or 22
    return Candidate(
        line,
        first,
        first,
        port,
        host_key=f"{kind} {blob}",
        fingerprint=fingerprint(base64.b64decode(blob)),
        problem=problem,
    )
