"""Parse OpenSSH's known_hosts (sshd(8)): addresses with their public keys.

Hashed names cannot be decoded, patterns name no host, @revoked keys must not be trusted, and a
@cert-authority is not a host key; such lines get a result with the reason. Of several keys of a host, ed25519
is preferred, then ecdsa, then rsa.
"""

from __future__ import annotations

import base64
import binascii

from culprit.hosts.inventory.candidate import Candidate, limit_candidates, parse_port, split_lines
from culprit.infra.ssh.keys import format_fingerprint

ORDER = ("ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa")


def parse_hosts(text: str) -> list[Candidate]:
    """Return one candidate per host, and one per line without a host."""
    best: dict[tuple[str, int], Candidate] = {}
    unusable: list[Candidate] = []
    for number, line in enumerate(split_lines(text), 1):
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
        problem = _find_problem(marker, names, kind, blob)
        if problem is not None:
            displayed_names = "(hashed)" if names.startswith("|") else names[:100]
            unusable.append(
                Candidate(
                    number, displayed_names, problem=problem, incomplete=problem == "import.hashed_name"
                )
            )
            continue
        candidate = _build_candidate(number, names.split(","), kind, blob)
        place = (candidate.address, candidate.port or 22)
        known = best.get(place)
        if known is None or _rank_key(candidate) < _rank_key(known):
            best[place] = candidate
    return limit_candidates(sorted([*best.values(), *unusable], key=lambda item: item.line))


def _rank_key(candidate: Candidate) -> int:
    assert candidate.host_key is not None
    return ORDER.index(candidate.host_key.split()[0])


def _find_problem(marker: str, names: str, kind: str, blob: str) -> str | None:
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


def _build_candidate(line: int, names: list[str], kind: str, blob: str) -> Candidate:
    """Use the first name as name and address, because known_hosts lists a name before its addresses."""
    first, port = names[0], 22
    problem = None
    if first.startswith("["):
        inner, _, text = first[1:].partition("]:")
        port_text = parse_port(text)
        problem = None if port_text else "import.port_unreadable"
        first, port = inner, port_text or 22
    return Candidate(
        line,
        first,
        first,
        port,
        host_key=f"{kind} {blob}",
        fingerprint=format_fingerprint(base64.b64decode(blob)),
        problem=problem,
    )
