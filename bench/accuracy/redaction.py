"""Measure the recall of the redaction for planted secrets in every format, and its false positives.

    ./culprit bench redaction [--seed N]

500 secrets of known forms and 500 random ones are planted in each of twelve formats; recall is the share that the
redaction removes. False positives are words of captured test texts of the collectors that are replaced as secrets.
Their addresses and paths are real and do not count. Times are measured for a hostile text and for a typical log.
"""

from __future__ import annotations

import argparse
import json
import random
import string
import time
from collections import Counter
from collections.abc import Callable, Mapping

from culprit.domain.redaction.kinds import ALL_KINDS, RedactionRules
from culprit.domain.redaction.redactor import Redactor
from culprit.domain.redaction.secrets import find_secrets
from culprit.launcher.paths import ROOT

VALUE_COUNT = 500
FIXTURES = ROOT / "collectors" / "tests" / "fixtures"
HOSTS = frozenset({"feed-prod-7", "db-master-02", "web1"})
USERS = frozenset({"alice", "mallory"})
WORDS = frozenset({"Project Falcon"})
ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"

Make = Callable[[random.Random], tuple[str, str]]


def _draw_letters(rng: random.Random, letters: str, size: int) -> str:
    return "".join(rng.choice(letters) for _ in range(size))


def _draw_word(rng: random.Random) -> str:
    return _draw_letters(rng, string.ascii_lowercase, rng.randint(5, 9))


def _make_jwt(rng: random.Random) -> tuple[str, str]:
    head, claims = _draw_letters(rng, ALNUM, 20), _draw_letters(rng, ALNUM, 40)
    result = f"eyJ{head}.eyJ{claims}.{_draw_letters(rng, ALNUM + '-_', 43)}"
    return result, result


def _build_labeled_maker(before: str, letters: str = ALNUM + "!#%*", size: int = 10) -> Make:
    def make(rng: random.Random) -> tuple[str, str]:
        result = _draw_letters(rng, ALNUM, 2) + _draw_letters(rng, letters, size)
        return result, before + result

    return make


def _build_form_maker(before: str, letters: str, size: int) -> Make:
    def make(rng: random.Random) -> tuple[str, str]:
        new_before = before + _draw_letters(rng, letters, size)
        return new_before, new_before

    return make


def _make_ipv4(rng: random.Random) -> tuple[str, str]:
    result = ".".join(str(rng.randint(1, 254)) for _ in range(4))
    return result, result


def _make_ipv6(rng: random.Random) -> tuple[str, str]:
    result = "2001:db8:" + ":".join(_draw_letters(rng, HEX, 4) for _ in range(6))
    return result, result


def _make_mail(rng: random.Random) -> tuple[str, str]:
    result = f"{_draw_word(rng)}.{_draw_word(rng)}@{_draw_word(rng)}.{rng.choice(('com', 'example', 'co.uk', 'cn'))}"
    return result, result


def _make_host_name(rng: random.Random) -> tuple[str, str]:
    name = f"{_draw_word(rng)}-{rng.randint(1, 99)}.{_draw_word(rng)}"
    result = f"{name}.{rng.choice(('com', 'internal', 'net', 'io', 'local'))}"
    return result, result


def _make_home_path(rng: random.Random) -> tuple[str, str]:
    top, end = rng.choice(("home", "srv", "opt", "data")), rng.choice(("py", "log", "conf"))
    result = f"/{top}/{_draw_word(rng)}/{_draw_word(rng)}.{end}"
    return result, result


def _build_known_maker(names: frozenset[str]) -> Make:
    return _build_plain_maker(lambda rng: rng.choice(sorted(names)))


def _build_plain_maker(make: Callable[[random.Random], str]) -> Make:
    """Return a generator of (secret, message), in which the message is only the secret."""

    def make_plain(rng: random.Random) -> tuple[str, str]:
        result = make(rng)
        return result, result

    return make_plain


def _make_login(rng: random.Random) -> tuple[str, str]:
    result = _draw_letters(rng, ALNUM, 12)
    return result, f"postgres://app:{result}@db-master-02:5432/x"


VALUE_MAKERS: Mapping[str, Make] = {
    "password=": _build_labeled_maker("password="),
    "secret:": _build_labeled_maker("client_secret: "),
    "bearer": _build_labeled_maker("Authorization: Bearer ", ALNUM, 24),
    "url login": _make_login,
    "jwt": _make_jwt,
    "aws": _build_form_maker("AKIA", string.ascii_uppercase + string.digits, 16),
    "github": _build_form_maker("ghp_", ALNUM, 36),
    "slack": _build_form_maker("xoxb-", string.digits, 24),
    "google": _build_form_maker("AIza", ALNUM, 35),
    "stripe": _build_form_maker("sk_live_", ALNUM, 24),
    "gitlab": _build_form_maker("glpat-", ALNUM, 20),
    "culprit": _build_form_maker("culprit_", ALNUM + "-_", 43),
    "IPv4": _make_ipv4,
    "IPv6": _make_ipv6,
    "mail": _make_mail,
    "FQDN": _make_host_name,
    "path": _make_home_path,
    "host": _build_known_maker(HOSTS),
    "user": _build_known_maker(USERS),
    "word": _build_known_maker(WORDS),
}
RANDOM: Mapping[str, Make] = {
    "base62": _build_plain_maker(lambda rng: _draw_letters(rng, ALNUM, rng.randint(20, 44))),
    "base64": _build_plain_maker(lambda rng: _draw_letters(rng, ALNUM + "+/", rng.randint(24, 64))),
    "hex": _build_plain_maker(lambda rng: _draw_letters(rng, HEX, rng.choice((32, 40, 64)))),
    "base36": _build_plain_maker(lambda rng: _draw_letters(rng, string.ascii_lowercase + string.digits, 32)),
}
FORMATS: Mapping[str, Callable[[Redactor, str], str]] = {
    "plain line": lambda r, s: r.redact_text(f"It printed {s} and continued."),
    "quoted": lambda r, s: r.redact_text(f'level=info msg="seen {s} twice"'),
    "JSON text": lambda r, s: r.redact_text(json.dumps({"message": f"got {s} from it", "n": 3})),
    "structure": lambda r, s: json.dumps(r.redact_value({"rows": [[1, f"x {s}"], [2, "y"]], "note": s})),
    "syslog": lambda r, s: r.redact_text(f"Nov 22 07:00:01 box-9 app[123]: {s} (retry 3)"),
    "access log": lambda r, s: r.redact_text(
        f'- - [22/Nov/2026:07:00:01 +0000] "GET /x HTTP/1.1" 200 12 "{s}" "curl/8"'
    ),
    "table row": lambda r, s: r.redact_text(f"  1234  0.5  12.0  {s}  S  00:01:02"),
    "SQL": lambda r, s: r.redact_text(f"SELECT a FROM t WHERE b = '{s}' AND c < 5;"),
    "command": lambda r, s: r.redact_text(f"python3 run.py --quiet {s} -n 4"),
    "YAML": lambda r, s: r.redact_text(f"app:\n  value: {s}\n  other: 3\n"),
    "Markdown": lambda r, s: r.redact_text(f"- **found** {s}, see above\n- nothing"),
    "frame": lambda r, s: r.redact_frame(f"handler ({s})"),
}


def _measure_recall(
    makes: Mapping[str, Make], seed: int
) -> tuple[dict[str, float], list[tuple[str, str, str]]]:
    """Return the removed share by format, and (format, kind, original) of the secrets that were not removed."""
    rng = random.Random(seed)
    names = (sorted(makes) * (VALUE_COUNT // len(makes) + 1))[:VALUE_COUNT]
    planted = [(name, *makes[name](rng)) for name in names]
    shares, left = {}, []
    for format_, write in FORMATS.items():
        result = 0
        for name, original, message in planted:
            after = write(Redactor(RedactionRules(ALL_KINDS - {"symbol"}, HOSTS, USERS, WORDS)), message)
            if original.lower() in after.lower():
                left.append((format_, name, original))
            else:
                result += 1
        shares[format_] = result / len(planted)
    return shares, left


def _count_needless() -> tuple[int, int]:
    """Return (words that are replaced as secrets, all words) of the captured texts."""
    hits = words = 0
    files = [item for item in FIXTURES.glob("*/*/*/*") if item.is_file() and item.suffix != ".json"]
    for path in sorted(files)[:400]:
        text = path.read_text(encoding="utf-8", errors="replace")[:60_000]
        words += len(text.split())
        hits += sum(1 for _ in find_secrets(text))
    return hits, words


def main() -> int:
    """Print the tables. Return 1 if a secret of a known form was not removed."""
    ask = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    ask.add_argument("--seed", type=int, default=1, help="another one plants other secrets")
    seed = ask.parse_args().seed
    known, left = _measure_recall(VALUE_MAKERS, seed)
    guessed, missed = _measure_recall(RANDOM, seed + 1)
    print("| format | 500 of known forms | 500 random ones |\n|---|--:|--:|")
    for format_ in FORMATS:
        print(f"| {format_} | {100 * known[format_]:.1f} % | {100 * guessed[format_]:.1f} % |")
    print(f"left: {Counter(item[:2] for item in left).most_common(8)}; {left[:5]}")
    print(f"random ones that left: {Counter(item[1] for item in missed).most_common()}")
    hits, words = _count_needless()
    print(
        f"replaced in captured texts as a secret: {hits} of {words} words ({100 * hits / max(words, 1):.2f} %)"
    )
    redactor = Redactor(RedactionRules(ALL_KINDS, HOSTS, USERS, WORDS))
    typical = "Nov 22 07:00:01 feed-prod-7 app[12]: 10.0.0.1 GET /x/y took 12.5 ms user=alice\n" * 12_500
    for name, text in (("a log", typical), ("hostile", "password" * 125_000)):
        began = time.perf_counter()
        redactor.redact_text(text)
        print(f"{name}: {len(text) / 1e6:.1f} MB in {time.perf_counter() - began:.2f} s")
    return 1 if left else 0


if __name__ == "__main__":
    raise SystemExit(main())
