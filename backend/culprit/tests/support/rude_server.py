"""SSH servers that violate the protocol in one way each, which a real sshd cannot."""

import contextlib
import os
import socket
import threading
import time

import paramiko

BEFORE_LOGIN = ("silent", "banner_drip", "banner_junk", "not_ssh", "kex_hang", "close_at_once", "old_kex")
AFTER_LOGIN = (
    "auth_hang",
    "channel_hang",
    "channel_refused",
    "exec_hang",
    "exec_refused",
    "mute",
    "no_exit_status",
    "drip",
    "stdout_flood",
    "stderr_flood",
    "hangs_after_some",
    "reset",
)


class Rude(paramiko.ServerInterface):
    def __init__(self, how: str, stop: threading.Event, counts: dict):
        self.how, self.stop, self.counts = how, stop, counts

    def check_auth_publickey(self, username, key):
        self.counts["auth"] += 1
        if self.how == "auth_hang":
            self.stop.wait(60)
        return paramiko.AUTH_SUCCESSFUL

    def get_allowed_auths(self, username):
        return "publickey"

    def check_channel_request(self, kind, chanid):
        if self.how == "channel_hang":
            self.stop.wait(60)
        if self.how == "channel_refused":
            return paramiko.OPEN_FAILED_RESOURCE_SHORTAGE
        return paramiko.OPEN_SUCCEEDED

    def check_channel_exec_request(self, channel, command):
        if self.how == "exec_hang":
            self.stop.wait(60)
        if self.how == "exec_refused":
            return False
        threading.Thread(target=self.talk, args=(channel,), daemon=True).start()
        return True

    def talk(self, channel):
        self.stop.wait(0.1)  # until the request itself was answered
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            if self.how == "no_exit_status":
                channel.sendall(b"all of it\n")
                channel.shutdown_write()
                channel.close()
            elif self.how == "drip":
                while not self.stop.wait(0.2):
                    channel.sendall(b".")
            elif self.how == "stdout_flood":
                while not self.stop.is_set():
                    channel.sendall(b"y" * 32768)
            elif self.how == "stderr_flood":
                while not self.stop.is_set():
                    channel.sendall_stderr(b"y" * 32768)
            elif self.how == "hangs_after_some":
                channel.sendall(b"some\n")
            elif self.how == "reset":
                channel.sendall(os.urandom(5000))
                channel.transport.sock.close()


class RudeServer:
    """Listen on loopback and treat every client by the mode `how`."""

    def __init__(self, how: str, host_key: paramiko.PKey):
        self.how, self.host_key = how, host_key
        self.stop = threading.Event()
        self.counts = {"auth": 0, "connections": 0}
        self.transports: list[paramiko.Transport] = []
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=50)
        self.port = self.socket.getsockname()[1]
        self.threads = [threading.Thread(target=self._accept, daemon=True)]
        self.threads[0].start()

    def close(self):
        self.stop.set()
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        for transport in self.transports:
            transport.packetizer.complete_handshake()
            transport.close()
        for thread in [*self.threads, *self.transports]:
            thread.join(10)

    def _accept(self):
        while not self.stop.is_set():
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            self.counts["connections"] += 1
            thread = threading.Thread(target=self._treat, args=(client,), daemon=True)
            self.threads.append(thread)
            thread.start()

    def _treat(self, client):
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            getattr(self, f"_{self.how}", self._serve)(client)
        client.close()  # also after the client has gone, which ends what the server sends by an error

    def _silent(self, client):
        self.stop.wait(60)

    def _close_at_once(self, client):
        pass

    def _banner_drip(self, client):
        for letter in b"SSH-2.0-" + b"x" * 10_000:
            client.sendall(bytes([letter]))
            if self.stop.wait(0.2):
                break

    def _banner_junk(self, client):
        while not self.stop.wait(0.05):
            client.sendall(b"<html>not what you look for</html>\r\n")

    def _not_ssh(self, client):
        client.sendall(b"SSH-1.5-ancient\r\n")
        self.stop.wait(60)

    def _kex_hang(self, client):
        client.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
        self.stop.wait(60)

    def _serve(self, client):
        transport = paramiko.Transport(client)
        self.transports.append(transport)
        transport.add_server_key(self.host_key)
        if self.how == "old_kex":
            transport.get_security_options().ciphers = ["aes128-cbc"]
        transport.start_server(server=Rude(self.how, self.stop, self.counts))
        while transport.is_active() and not self.stop.is_set():
            time.sleep(0.05)
