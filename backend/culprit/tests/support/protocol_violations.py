"""The ways in which `misbehaving_server` violates the SSH protocol, each with the right error of the session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Violation:
    """What a server does in a step, and the kind of error of the session; `ended` for a normal end.

    `at` is the server that violates the protocol: the host, the jump host before it, or the host behind a jump host.
    """

    step: str
    how: str
    kind: str
    at: Literal["host", "jump", "behind"] = "host"

    @property
    def name(self) -> str:
        """Return the name of the case."""
        return f"{self.at}-{self.step}-{self.how}"


STEPS: list[tuple[str, str]] = [
    ("kex_init", "kex_timeout"),
    ("kex_reply", "kex_timeout"),
    ("new_keys", "kex_timeout"),
    ("service", "auth_timeout"),
    ("login", "auth_timeout"),
    ("channel", "channel_timeout"),
    ("exec", "exec_timeout"),
    ("output", "silent"),
    ("exit_status", "silent"),
]


def list_violations() -> list[Violation]:
    """Return all cases."""
    cases = [
        Violation("connect", "refused", "refused"),
        Violation("connect", "hang", "connect_timeout"),
        *(
            Violation("banner", how, kind, at)
            for at in ("host", "behind")
            for how, kind in {
                "hang": "banner_timeout", "drip": "banner_timeout", "reset": "cut", "close": "cut",
                "garbage": "not_ssh", "slow_lines": "banner_timeout", "flood": "not_ssh", "endless_line": "not_ssh",
                "http": "not_ssh", "version_1": "not_ssh", "no_version": "not_ssh",
            }.items()
            if at == "host" or how != "reset"
        ),
    ]  # fmt: skip
    for step, timeout in STEPS:
        hows = {"hang": timeout, "drip": timeout, "reset": "cut", "close": "cut", "garbage": "protocol"}
        cases += [Violation(step, how, kind) for how, kind in hows.items()]
        # In a key exchange nothing else may be sent.
        is_early = step in ("kex_reply", "new_keys")
        cases += [
            Violation(step, "flood", "protocol" if is_early else timeout),
            Violation(step, "disconnect", "cut"),
        ]
    cases += [
        Violation(step, how, kind)
        for step, how, kind in (
            ("kex_init", "malformed", "kex"),
            ("kex_init", "long", "protocol"),
            ("kex_init", "key_inits", "kex"),
            ("kex_init", "old_cipher", "kex"),
            ("kex_reply", "malformed", "protocol"),
            ("kex_reply", "unknown", "protocol"),
            ("kex_reply", "broken_key", "protocol"),
            ("kex_reply", "bad_value", "protocol"),
            ("kex_reply", "wrong_signature", "protocol"),
            ("kex_reply", "other_key", "host_key_changed"),
            ("service", "unknown", "protocol"),
            ("service", "malformed", "protocol"),
            ("login", "refused", "auth_failed"),
            ("login", "partial", "auth_failed"),
            ("login", "banners", "auth_timeout"),
            ("login", "requests", "auth_timeout"),
            ("channel", "refused", "channel"),
            ("channel", "malformed", "channel_timeout"),
            ("channel", "rekey", "channel_timeout"),
            ("channel", "opens", "channel_timeout"),
            ("exec", "refused", "exec"),
            ("exec", "closed", "exec"),
            ("exec", "rekey", "exec_timeout"),
            ("output", "trickle", "deadline"),
            ("output", "stdout", "flood"),
            ("output", "stderr", "flood"),
            ("output", "rekey", "silent"),
            ("output", "requests", "silent"),
            ("output", "adjusts", "silent"),
            ("output", "opens", "silent"),
            ("exit_status", "omit", "cut"),
            ("exit_status", "signal", "cut"),
            ("close", "hang", "ended"),
            ("close", "drip", "ended"),
            ("close", "reset", "ended"),
            ("close", "garbage", "ended"),
        )
    ]
    cases += [
        Violation(step, how, kind, "jump")
        for step, how, kind in (
            ("kex_reply", "other_key", "host_key_changed"),
            ("login", "hang", "auth_timeout"),
            ("login", "refused", "auth_failed"),
            ("channel", "hang", "connect_timeout"),
            ("channel", "drip", "connect_timeout"),
            ("channel", "reset", "cut"),
            ("channel", "garbage", "protocol"),
            ("channel", "flood", "connect_timeout"),
            ("channel", "refused", "refused"),
            ("output", "hang", "banner_timeout"),
            ("output", "drip", "banner_timeout"),
            ("output", "reset", "cut"),
            ("output", "garbage", "cut"),
            ("output", "flood", "banner_timeout"),
            ("output", "rekey", "banner_timeout"),
            ("output", "other_key", "host_key_changed"),
        )
    ]
    cases += [
        Violation(step, how, kind, "behind")
        for step, timeout in STEPS
        for how, kind in {"hang": timeout, "garbage": "protocol", "close": "cut"}.items()
    ]
    return cases


VIOLATIONS = {case.name: case for case in list_violations()}
