"""Mail through a server that somebody has named: only where the allow-list permits, and bounded in time.

The name is resolved once, the answer is checked, and the connection goes to that very address, as with everything else
that is dialled. With `starttls` or `tls` the server must show a certificate for its name; a password is never sent
without one of them, unless the server is on loopback.
"""

from __future__ import annotations

import contextlib
import ipaddress
import smtplib
import socket
import ssl
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from email.message import EmailMessage
from typing import Any, Literal

from culprit.infra.addresses import Rule
from culprit.infra.outgoing import OutgoingError, Place, check

STEP_S = 10.0
TOTAL_S = 30.0
Security = Literal["none", "starttls", "tls"]


@dataclass(frozen=True, slots=True)
class MailServer:
    """Where mail is handed over. `password` appears nowhere but on the wire."""

    host: str
    port: int
    security: Security = "starttls"
    username: str = ""
    password: str = field(default="", repr=False)

    @property
    def place(self) -> Place:
        """For the allow-list."""
        return Place("https" if self.security == "tls" else "http", self.host, self.port, "")


class _Dialled(smtplib.SMTP):
    """SMTP over a connection to an address that was checked already."""

    def __init__(self, server: MailServer, address: str) -> None:
        self._server, self._address = server, address
        super().__init__(timeout=STEP_S)
        code, said = self.connect(server.host, server.port)
        if code != 220:
            self.close()
            raise smtplib.SMTPConnectError(code, said)
        self._host = server.host  # whose certificate STARTTLS wants to see

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        wire = socket.create_connection((self._address, port), timeout)
        if self._server.security != "tls":
            return wire
        try:
            return ssl.create_default_context().wrap_socket(wire, server_hostname=host)
        except BaseException:
            wire.close()
            raise


def send_mail(server: MailServer, message: EmailMessage, rules: Iterable[Rule]) -> None:
    """Hands one mail over. Raises OutgoingError; `mail` with the server's code where it refused."""
    address = check(server.place, rules)
    try:
        client = _Dialled(server, address)
    except (OSError, smtplib.SMTPException) as error:
        raise _failed(server, error) from None
    # A server that says a word now and then keeps every single wait short: the whole is cut from outside.
    watch = threading.Timer(TOTAL_S, _cut, [client])
    watch.daemon = True
    watch.start()
    try:
        _talk(client, server, message, address)
    except (OSError, smtplib.SMTPException, ValueError) as error:
        raise _failed(server, error) from None
    finally:
        watch.cancel()
        client.close()


def _talk(client: smtplib.SMTP, server: MailServer, message: EmailMessage, address: str) -> None:
    client.ehlo()
    if server.security == "starttls":
        client.starttls(context=ssl.create_default_context())
        client.ehlo()
    if server.username:
        if server.security == "none" and not ipaddress.ip_address(address).is_loopback:
            raise OutgoingError("tls", host=server.host, said="password without TLS")
        client.login(server.username, server.password)
    client.send_message(message)
    with contextlib.suppress(OSError, smtplib.SMTPException):  # it has the mail
        client.quit()


def _cut(client: smtplib.SMTP) -> None:
    with contextlib.suppress(OSError, AttributeError):
        client.sock.shutdown(socket.SHUT_RDWR)  # type: ignore[union-attr]


def _failed(server: MailServer, error: Exception) -> OutgoingError:
    host: dict[str, Any] = {"host": server.host}
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        code = max((int(code) for code, _ in error.recipients.values()), default=550)
        return OutgoingError("mail", **host, code=code)
    if isinstance(error, smtplib.SMTPResponseException):
        return OutgoingError("mail", **host, code=int(error.smtp_code))
    if isinstance(error, ssl.SSLError):
        return OutgoingError("tls", **host, said=(error.reason or "TLS")[:100])
    if isinstance(error, TimeoutError):
        return OutgoingError("timeout", **host, limit_s=int(TOTAL_S))
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return OutgoingError("tls", **host, said="not offered")
    kind: Any = "unreachable" if isinstance(error, OSError) else "garbled"
    return OutgoingError(kind, **host, port=server.port)
