"""The agent that a company has on each of its hosts, and the service elsewhere that it asks for files."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time

from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.web_neighbours import PROGRAMS, ApiServer

# A partner leaves a file from time to time; a job of the host reads it.
PARTNER = 'while :; do date >"$0/orders.csv"; sleep {pause}; cat "$0/orders.csv" >/dev/null; done'


class EndpointAgent:
    """The agent that runs. It guards the directory in which partners leave files."""

    def __init__(self, environment: LabEnvironment, rng: random.Random, port: int, answer_ms: float) -> None:
        """Start it and the service on `port` of the clients' side, which needs `answer_ms` for an answer."""
        self.environment = environment
        self.service = ApiServer(
            environment, environment.client_address, port, client_side=True, delay_ms=answer_ms, work_us=100,
            answer_bytes=120,
        )  # fmt: skip
        drop = rng.choice(("/run/partners", "/run/inbox", "/run/transfer"))
        environment.host_sh(f"mkdir {drop}; mount -t tmpfs -o size=16m tmpfs {drop}")
        self.mounts = [drop]
        name = rng.choice(("wardend", "hostsensor", "edr-agent"))
        self.settings = environment.directory / f"{name}.json"
        self._write_settings()
        program = environment.directory / f"{name}.py"
        program.write_text((PROGRAMS / "daemons" / "endpoint_agent.py").read_text())
        self.process: subprocess.Popen[bytes] = environment.on_host(
            [sys.executable, "-B", str(program), "--settings", str(self.settings), "--service", self.service.address],
            environment.system,
        )  # fmt: skip
        wait_for(self._is_guarding, "the agent")
        environment.on_host(["sh", "-c", PARTNER.format(pause=rng.choice((1, 2))), drop])

    @property
    def pid(self) -> int:
        return self.process.pid

    def guard(self, *mounts: str) -> None:
        """Guard these mounts too, as a new list of the company asks for."""
        self.mounts += mounts
        self._write_settings()
        self.process.send_signal(signal.SIGHUP)
        time.sleep(0.5)

    def _write_settings(self) -> None:
        self.settings.write_text(json.dumps({"mounts": self.mounts}))

    def _is_guarding(self) -> bool:
        if self.process.poll() is not None:
            raise RuntimeError(
                f"the agent ended: {(self.environment.directory / 'programs.log').read_text()[-600:]}"
            )
        return "fanotify mnt_id" in self.environment.host_sh(
            f"cat /proc/{self.pid}/fdinfo/* 2>/dev/null || :"
        )
