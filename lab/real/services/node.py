"""Node programs of lab/real/programs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from lab.environment import LabEnvironment
from lab.load import wait_for

PROGRAMS = Path(__file__).parents[1] / "programs"


class NodeService:
    """A Node server on the host. Its settings and its log are in `directory`."""

    def __init__(self, environment: LabEnvironment, source: str, port: int) -> None:
        self.environment, self.source, self.port = environment, source, port
        self.directory = environment.directory / Path(source).stem
        self.directory.mkdir()
        self.settings = self.directory / "settings.json"
        self.access_log = str(self.directory / "access.log")

    @property
    def pid(self) -> int:
        return self.server.pid

    def write_settings(self, **values: object) -> None:
        """Write the settings; a server that runs reads them within half a second."""
        self.settings.with_suffix(".new").write_text(json.dumps(values))
        self.settings.with_suffix(".new").replace(self.settings)

    def write_articles(self, count: int) -> Path:
        """Write the feed of articles, in place of an earlier one."""
        feed = self.directory / "articles.json"
        articles = [
            {
                "id": n,
                "group": n % 7,
                "price": n * 7919 % 10_007,
                "title": f"article {n}",
                "tags": ["new", f"t{n % 90}"],
            }
            for n in range(count)
        ]
        feed.with_suffix(".new").write_text(json.dumps(articles))
        return feed.with_suffix(".new").replace(feed)

    def start(self) -> None:
        """Start the server, and wait until it listens."""
        self.server: subprocess.Popen[bytes] = self.environment.on_host(
            ["node", str(PROGRAMS / self.source), self.environment.host_address, str(self.port), str(self.settings),
             self.access_log]
        )  # fmt: skip
        wait_for(
            lambda: bool(self.environment.host_net.sh(f"ss -Hltn sport = :{self.port}")), f"port {self.port}"
        )
