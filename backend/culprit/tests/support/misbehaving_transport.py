"""A server of paramiko that keeps the protocol, except for the first message of one step."""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import threading
import time
from collections.abc import Callable
from typing import Any

import paramiko
from culprit.tests.support.protocol_violations import Violation
from paramiko.common import (
    MSG_CHANNEL_CLOSE,
    MSG_CHANNEL_DATA,
    MSG_CHANNEL_OPEN,
    MSG_CHANNEL_OPEN_SUCCESS,
    MSG_CHANNEL_REQUEST,
    MSG_CHANNEL_SUCCESS,
    MSG_CHANNEL_WINDOW_ADJUST,
    MSG_DISCONNECT,
    MSG_GLOBAL_REQUEST,
    MSG_IGNORE,
    MSG_KEXINIT,
    MSG_NEWKEYS,
    MSG_SERVICE_ACCEPT,
    MSG_USERAUTH_BANNER,
    MSG_USERAUTH_SUCCESS,
)

MSG_KEX_REPLY = 31
DRIP_S = 0.2
PAUSE_S = 0.002
#: The first message of the server in each step.
MESSAGES = {
    "kex_init": MSG_KEXINIT,
    "kex_reply": MSG_KEX_REPLY,
    "new_keys": MSG_NEWKEYS,
    "service": MSG_SERVICE_ACCEPT,
    "login": MSG_USERAUTH_SUCCESS,
    "channel": MSG_CHANNEL_OPEN_SUCCESS,
    "exec": MSG_CHANNEL_SUCCESS,
    "output": MSG_CHANNEL_DATA,
    "exit_status": MSG_CHANNEL_REQUEST,
    "close": MSG_CHANNEL_CLOSE,
}


class SlowSocket:
    """A socket that sends one byte at a time once `is_slow` is set."""

    def __init__(self, sock: Any) -> None:
        self.sock, self.is_slow = sock, False

    def send(self, data: bytes) -> int:
        """Send `data`, or its first byte."""
        if self.is_slow:
            time.sleep(DRIP_S)
            data = data[:1]
        return int(self.sock.send(data))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.sock, name)


class MisbehavingTransport(paramiko.Transport):
    """The server of one connection; `violation` is None for a server that keeps the protocol."""

    def __init__(self, sock: Any, violation: Violation | None) -> None:
        super().__init__(sock)
        self.daemon = True
        self.violation, self.fired, self.muted = violation, False, False

    def _send_message(self, data: paramiko.Message) -> None:
        case = self.violation
        is_at_step = case is not None and data.asbytes()[0] == MESSAGES.get(case.step)
        if self.muted and data.asbytes()[0] != MSG_KEXINIT:
            return
        if case is None or self.fired or not is_at_step or case.how not in ACTIONS:
            super()._send_message(data)
        else:
            self.fired = True
            ACTIONS[case.how](self, data)

    def run(self) -> None:
        """Serve until the connection ends, which may be while this server closes its channel of a jump host."""
        with contextlib.suppress(OSError, EOFError):
            super().run()

    def send_packet(self, kind: int, payload: bytes) -> None:
        """Send a message without any check."""
        super()._send_message(paramiko.Message(bytes([kind]) + payload))


Action = Callable[[MisbehavingTransport, paramiko.Message], None]


def hang(transport: MisbehavingTransport, message: paramiko.Message) -> None:
    """Send nothing from now on, and keep the connection open."""
    transport.muted = True


def drip(transport: MisbehavingTransport, message: paramiko.Message) -> None:
    """Send the packet byte by byte."""
    transport.sock.is_slow = True
    transport.send_packet(message.asbytes()[0], message.asbytes()[1:])


def reset(transport: MisbehavingTransport, message: paramiko.Message) -> None:
    """End the connection with a TCP reset, after what was sent before has arrived."""
    time.sleep(DRIP_S)
    transport.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.sock.close()
    raise EOFError


def close(transport: MisbehavingTransport, message: paramiko.Message) -> None:
    """End the connection without any message."""
    transport.sock.shutdown(socket.SHUT_RDWR)
    raise EOFError


def send_garbage(transport: MisbehavingTransport, message: paramiko.Message) -> None:
    """Send random bytes in place of a packet."""
    transport.sock.sendall(random.Random(transport.violation.name).randbytes(4096))
    transport.muted = True


def send_malformed(transport: MisbehavingTransport, message: paramiko.Message) -> None:
    """Send the right type of message with fields that end early."""
    transport.send_packet(message.asbytes()[0], b"\xff\xff\xff\xff\xfe")
    transport.muted = True


def send_unknown(transport: MisbehavingTransport, message: paramiko.Message) -> None:
    """Send a message of a type that does not exist."""
    transport.send_packet(199, b"\0" * 20)
    transport.muted = True


def disconnect(transport: MisbehavingTransport, message: paramiko.Message) -> None:
    """End the connection with a text that contains control characters."""
    text = paramiko.Message()
    text.add_int(2)
    text.add_string(b"\x1b[31mgo away\n" * 500)
    transport.send_packet(MSG_DISCONNECT, text.asbytes())
    transport.muted = True


def start_key_exchange(transport: MisbehavingTransport, message: paramiko.Message) -> None:
    """Start another key exchange, and do not continue it."""
    transport.muted = True  # except for the first message of a key exchange
    # In another thread, because this one may have the lock of paramiko that the message needs.
    threading.Thread(target=transport._send_kex_init, daemon=True).start()


def exit_by_signal(transport: MisbehavingTransport, message: paramiko.Message) -> None:
    """Report a signal in place of an exit status."""
    channel = int.from_bytes(message.asbytes()[1:5], "big")
    transport.send_packet(MSG_CHANNEL_REQUEST, pack_fields(channel, "exit-signal", False, "KILL"))


def omit(transport: MisbehavingTransport, message: paramiko.Message) -> None:
    """Leave out this message only."""


def alter_reply(position: int, replace: Callable[[bytes], bytes]) -> Action:
    """Return an action that replaces a field of the key exchange: host key, public value or signature."""

    def act(transport: MisbehavingTransport, message: paramiko.Message) -> None:
        fields = paramiko.Message(message.asbytes()[1:])
        values = [fields.get_string() for _ in range(3)]
        values[position] = replace(values[position])
        reply = paramiko.Message()
        for value in values:
            reply.add_string(value)
        transport.send_packet(MSG_KEX_REPLY, reply.asbytes())

    return act


def repeat(kind: int, payload: bytes) -> Action:
    """Return an action that sends the same message until the client closes the connection."""

    def act(transport: MisbehavingTransport, message: paramiko.Message) -> None:
        while True:
            transport.send_packet(kind, payload)
            time.sleep(PAUSE_S)  # paramiko itself ends a connection with a gigabyte of messages without data

    return act


def pack_fields(*fields: str | int | bool) -> bytes:
    """Return fields of a message."""
    message = paramiko.Message()
    for value in fields:
        if isinstance(value, bool):
            message.add_boolean(value)
        elif isinstance(value, int):
            message.add_int(value)
        else:
            message.add_string(value)
    return message.asbytes()


ACTIONS: dict[str, Action] = {
    "hang": hang,
    "drip": drip,
    "reset": reset,
    "close": close,
    "garbage": send_garbage,
    "malformed": send_malformed,
    "unknown": send_unknown,
    "disconnect": disconnect,
    "rekey": start_key_exchange,
    "signal": exit_by_signal,
    "omit": omit,
    "broken_key": alter_reply(0, lambda key: key[:20]),
    "bad_value": alter_reply(1, lambda value: bytes(len(value))),
    "wrong_signature": alter_reply(2, lambda value: value[:-1] + bytes([value[-1] ^ 1])),
    "flood": repeat(MSG_IGNORE, pack_fields("y" * 30_000)),
    "requests": repeat(MSG_GLOBAL_REQUEST, pack_fields("keepalive@example.org", True)),
    "banners": repeat(MSG_USERAUTH_BANNER, pack_fields("welcome\r\n" * 3000, "")),
    "opens": repeat(MSG_CHANNEL_OPEN, pack_fields("x11", 7, 1 << 20, 1 << 15, "127.0.0.1", 6000)),
    "adjusts": repeat(MSG_CHANNEL_WINDOW_ADJUST, pack_fields(0, 1)),
    "key_inits": repeat(MSG_KEXINIT, bytes(16) + b"\0\0\0\0" * 10 + bytes(5)),
    "long": lambda transport, message: transport.send_packet(MSG_KEXINIT, bytes(300_000)),
}
