"""Errors between the server and a host, as one type with a kind.

Every kind has a message `ssh.<kind>` that states what happened and what to do. Callers store the message as
the outcome of a run.

    resolve   dns, not_allowed
    connect   connect_timeout, refused, unreachable
    banner    banner_timeout, not_ssh
    kex       kex_timeout, kex
    host key  host_key_missing, host_key_changed
    auth      auth_timeout, auth_failed, bad_key, no_agent
    channel   channel_timeout, channel
    exec      exec_timeout, exec, sudo_missing, sudo_asks, sudo_password, sudo_denied
    stream    no_answer, no_shell, silent, flood, deadline, killed
    any       cut, protocol
"""

from __future__ import annotations

from typing import Any, Literal

Stage = Literal["resolve", "connect", "banner", "kex", "auth", "channel", "exec", "hello", "stream"]

TIMEOUT_KIND: dict[Stage, str] = {
    "resolve": "dns",
    "connect": "connect_timeout",
    "banner": "banner_timeout",
    "kex": "kex_timeout",
    "auth": "auth_timeout",
    "channel": "channel_timeout",
    "exec": "exec_timeout",
    "hello": "no_answer",
    "stream": "silent",
}

# An automatic retry cannot help with these, and a wrong password that is tried again locks accounts.
FINAL = frozenset(
    {
        "not_allowed", "host_key_missing", "host_key_changed", "auth_failed", "bad_key", "no_agent", "kex",
        "not_ssh", "no_shell", "flood", "sudo_missing", "sudo_asks", "sudo_password", "sudo_denied",
    }
)  # fmt: skip


class SshError(Exception):
    """A step to or on a host failed. `params` are short and safe to display and store."""

    def __init__(self, kind: str, **params: str | int | float) -> None:
        super().__init__(kind, params)
        self.kind = kind
        self.params = params

    @property
    def sentence(self) -> dict[str, Any]:
        """Return the message as key and parameters."""
        return {"key": f"ssh.{self.kind}", "params": self.params}

    @property
    def final(self) -> bool:
        """Whether an automatic retry is useless or harmful."""
        return self.kind in FINAL


def to_printable(text: str, limit: int = 120) -> str:
    """Return text of a peer, truncated and without control characters, safe to display and log."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text[:limit])
