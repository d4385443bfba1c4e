"""A RabbitMQ on the host, with its data on a path of the host."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

from lab.environment import LabEnvironment
from lab.load import wait_for

SERVER = next(iter(sorted(Path("/usr/lib/rabbitmq/lib").glob("*/sbin"))), None)


class RabbitMq:
    """A RabbitMQ that runs on 127.0.0.1. `server` is its process."""

    def __init__(self, environment: LabEnvironment, rng: random.Random, port: int, directory: str) -> None:
        """Start epmd and RabbitMQ, and wait until it accepts connections."""
        self.environment, self.port = environment, port
        name = rng.choice(("orders", "queue", "broker"))
        environment.on_host(["epmd"])
        base = environment.directory / "rabbitmq"
        base.mkdir()
        (base / "rabbitmq.conf").write_text(
            f"listeners.tcp.1 = 127.0.0.1:{port}\nlog.file.level = warning\nlog.dir = {base}\n"
            "default_user = shop\ndefault_pass = shop\n"
        )
        (base / "plugins").write_text("[].\n")
        (base / ".erlang.cookie").write_text("lab" * 8)
        (base / ".erlang.cookie").chmod(0o600)
        self.variables = {
            "HOME": base, "RABBITMQ_NODENAME": f"{name}@localhost", "RABBITMQ_MNESIA_BASE": directory,
            "RABBITMQ_LOG_BASE": base, "RABBITMQ_CONFIG_FILE": base / "rabbitmq.conf",
            "RABBITMQ_ENABLED_PLUGINS_FILE": base / "plugins", "RABBITMQ_DIST_PORT": rng.randrange(25_000, 26_000),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+sbwt none +sbwtdcpu none +sbwtdio none",
        }  # fmt: skip
        words = [f"{name}={value}" for name, value in self.variables.items()]
        self.server: subprocess.Popen[bytes] = environment.on_host(
            ["env", *words, f"{SERVER}/rabbitmq-server"]
        )
        wait_for(lambda: self.server.poll() is not None or self._is_listening(), "RabbitMQ", 60.0)
        if self.server.poll() is not None:
            raise RuntimeError(
                f"RabbitMQ ended: {(environment.directory / 'programs.log').read_text()[-800:]}"
            )

    @property
    def pid(self) -> int:
        """The process of Erlang."""
        words = ["pgrep", "-s", str(self.server.pid), "beam"]
        return int(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()[0])

    def _is_listening(self) -> bool:
        return bool(self.environment.host_net.sh(f"ss -Hltn sport = :{self.port}").strip())
