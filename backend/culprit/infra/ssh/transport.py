"""SSH transport with bounded memory: lines, packets and unread data are limited.

paramiko reads packets and banners of any length, and keeps data that the peer sends beyond its window. Each
of these ends the connection here. What a malformed message raises in the parser becomes one type of error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import paramiko
from paramiko.channel import Channel
from paramiko.common import MSG_CHANNEL_DATA, MSG_CHANNEL_EXTENDED_DATA
from paramiko.message import Message
from paramiko.packet import Packetizer
from paramiko.ssh_exception import IncompatiblePeer

#: RFC 4253 requires 35,000 bytes; OpenSSH never sends more than this.
MAX_PACKET_BYTES = 256 << 10
#: RFC 4253 allows 255 bytes per line of a banner.
MAX_LINE_BYTES = 8 << 10
#: Errors of a connection that do not result from a violation of the protocol.
_ORDINARY = (
    EOFError, OSError, paramiko.AuthenticationException, paramiko.ChannelException, IncompatiblePeer
)  # fmt: skip


class ProtocolViolationError(paramiko.SSHException):
    """The peer sent what the protocol does not allow. The message may contain text of the peer."""


class BoundedPacketizer(Packetizer):
    """A packetizer that refuses an oversized packet or banner line before reading it."""

    _line_bytes = 0

    def read_all(self, n: int, check_rekey: bool = False) -> bytes:
        """Return the next `n` bytes. Raise SSHException if a packet cannot be that long."""
        if not 0 <= n <= MAX_PACKET_BYTES:
            raise paramiko.SSHException(f"the peer announces a packet of {n} bytes")
        data: bytes = super().read_all(n, check_rekey)
        return data

    def readline(self, timeout: float) -> str:
        """Return the next line of the banner. Raise SSHException if it does not end."""
        self._line_bytes = 0
        line: str = super().readline(timeout)
        return line

    def _read_timeout(self, timeout: float) -> bytes:
        data: bytes = super()._read_timeout(timeout)  # type: ignore[misc]
        self._line_bytes += len(data)
        if self._line_bytes > MAX_LINE_BYTES:
            raise paramiko.SSHException("no protocol version in the first bytes of the peer")
        return data


def _within_window(feed: Callable[[Channel, Message], None]) -> Callable[[Channel, Message], None]:
    def checked(channel: Channel, message: Message) -> None:
        unread = len(channel.in_buffer) + len(channel.in_stderr_buffer)
        if unread > channel.in_window_size + MAX_PACKET_BYTES:
            raise paramiko.SSHException("the peer sends more than the window allows")
        feed(channel, message)

    return checked


class BoundedTransport(paramiko.Transport):
    """A transport that ends the connection at each violation of the protocol, also of a channel's window."""

    _channel_handler_table: ClassVar[dict[int, Any]] = {
        **paramiko.Transport._channel_handler_table,  # type: ignore[attr-defined]
        MSG_CHANNEL_DATA: _within_window(Channel._feed),  # type: ignore[attr-defined]
        MSG_CHANNEL_EXTENDED_DATA: _within_window(Channel._feed_extended),  # type: ignore[attr-defined]
    }

    def get_exception(self) -> Exception | None:
        """Return the error that ended the connection, once; None without an error."""
        error: Exception | None = super().get_exception()
        if error is None or isinstance(error, _ORDINARY):
            return error
        if isinstance(error.__context__, EOFError | OSError):  # paramiko hides it while it reads the banner
            return error.__context__
        name = "" if isinstance(error, paramiko.SSHException) else f"{type(error).__name__}: "
        violation = ProtocolViolationError(f"{name}{error}")
        violation.__cause__ = error
        return violation
