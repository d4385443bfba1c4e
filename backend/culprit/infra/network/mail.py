"""Send mail through a configured server: restricted by the allow-list, and bounded in time.

The name is resolved once, the result is checked, and the connection goes to that address. With `starttls` or
`tls` the server must have a certificate for its name. A password is never sent without TLS, unless the server
is on loopback.
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

from culprit.infra.network.addresses import AddressRule
from culprit.infra.network.http_client import HttpEndpoint, OutgoingError, check_endpoint

STEP_S = 10.0
TOTAL_S = 30.0
Security = Literal["none", "starttls", "tls"]


@dataclass(frozen=True, slots=True)
class MailServer:
    """A mail server. `password` is only sent, never logged."""

    host: str
    port: int
    security: Security = "starttls"
    username: str = ""
    password: str = field(default="", repr=False)

    @property
    def endpoint(self) -> HttpEndpoint:
        """Return host and port for the allow-list."""
        return HttpEndpoint("https" if self.security == "tls" else "http", self.host, self.port, "")


class _CheckedAddressSmtp(smtplib.SMTP):
    """SMTP over a connection to an address that was already checked."""

    def __init__(self, server: MailServer, address: str) -> None:
        self._server, self._address = server, address
        super().__init__(timeout=STEP_S)
        code, message = self.connect(server.host, server.port)
        if code != 220:
            self.close()
            raise smtplib.SMTPConnectError(code, message)
        self._host = server.host  # STARTTLS verifies the certificate for this name

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        connection = socket.create_connection((self._address, port), timeout)
        if self._server.security != "tls":
            return connection
        try:
            return ssl.create_default_context().wrap_socket(connection, server_hostname=host)
        except BaseException:
            connection.close()
            raise


def send_mail(server: MailServer, message: EmailMessage, rules: Iterable[AddressRule]) -> None:
    """Send one message. Raises OutgoingError; `mail` with the server's code if it refused."""
    address = check_endpoint(server.endpoint, rules)
    try:
        client = _CheckedAddressSmtp(server, address)
    except (OSError, smtplib.SMTPException) as error:
        raise _describe_error(server, error) from None
    # A server that sends single lines slowly never exceeds the read timeout, so a timer limits the total
    # time.
    timer = threading.Timer(TOTAL_S, _abort_connection, [client])
    timer.daemon = True
    timer.start()
    try:
        _submit_message(client, server, message, address)
    except (OSError, smtplib.SMTPException, ValueError) as error:
        raise _describe_error(server, error) from None
    finally:
        timer.cancel()
        client.close()


def _submit_message(client: smtplib.SMTP, server: MailServer, message: EmailMessage, address: str) -> None:
    client.ehlo()
    if server.security == "starttls":
        client.starttls(context=ssl.create_default_context())
        client.ehlo()
    if server.username:
        if server.security == "none" and not ipaddress.ip_address(address).is_loopback:
            raise OutgoingError("tls", host=server.host, message="password without TLS")
        client.login(server.username, server.password)
    client.send_message(message)
    with contextlib.suppress(OSError, smtplib.SMTPException):  # the server has accepted the message
        client.quit()


def _abort_connection(client: smtplib.SMTP) -> None:
    with contextlib.suppress(OSError, AttributeError):
        client.sock.shutdown(socket.SHUT_RDWR)  # type: ignore[union-attr]


def _describe_error(server: MailServer, error: Exception) -> OutgoingError:
    host: dict[str, Any] = {"host": server.host}
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        code = max((int(code) for code, _ in error.recipients.values()), default=550)
        return OutgoingError("mail", **host, code=code)
    if isinstance(error, smtplib.SMTPResponseException):
        return OutgoingError("mail", **host, code=int(error.smtp_code))
    if isinstance(error, ssl.SSLError):
        return OutgoingError("tls", **host, message=(error.reason or "TLS")[:100])
    if isinstance(error, TimeoutError):
        return OutgoingError("timeout", **host, limit_s=int(TOTAL_S))
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return OutgoingError("tls", **host, message="not offered")
    kind: Any = "unreachable" if isinstance(error, OSError) else "garbled"
    return OutgoingError(kind, **host, port=server.port)
