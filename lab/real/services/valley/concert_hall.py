"""A concert hall: a Go service behind HAProxy, a beanstalkd, and printers that are started again when they end."""

from __future__ import annotations

from lab.load import wait_for
from lab.real.services.golang import GoService, build_program
from lab.real.services.haproxy import Haproxy, HaproxySettings
from lab.real.services.towns.beanstalkd import Beanstalkd
from lab.real.services.towns.town import Town

# What a container engine does with a program that ends.
KEEP_RUNNING = "while :; do {printer} {words}; sleep {pause_s:.1f}; done"


class ConcertHall:
    """The services that run."""

    def __init__(self, town: Town, printers: int, pause_s: float, *, most: int = 0) -> None:
        """Start them.

        Args:
            pause_s: how long it takes until a printer that has ended is started again.
            most: how many tickets a printer prints before it ends on purpose; 0 for all.
        """
        rng, self.environment = town.rng, town.environment
        port, desk_port, queue_port = town.take_ports(3)
        self.queue = Beanstalkd(self.environment, queue_port, str(self.environment.directory / "orders"))
        self.rows, seats, strokes = (
            rng.randrange(16, 26),
            rng.randrange(20, 36),
            rng.randrange(120_000, 180_000),
        )
        printer = build_program(self.environment, "valley/printer.go")
        words = (
            f"-queue {self.queue.address} -rows {self.rows} -seats {seats} -strokes {strokes} -most {most}"
        )
        line = KEEP_RUNNING.format(printer=printer, words=words, pause_s=pause_s)
        for _ in range(printers):
            self.environment.on_host(["sh", "-c", line])
        self.desk = GoService(
            self.environment, "valley/desk.go", desk_port, "-queue", self.queue.address, "-rounds",
            rng.randrange(2_000, 6_000), "-wait", f"{rng.choice((2.5, 3.0))}s",
        )  # fmt: skip
        self.desk.start()
        settings = HaproxySettings(
            frontend=rng.choice(("www", "hall")), backend="desk",
            servers=(f"{self.environment.host_address}:{desk_port}",), server_words="check inter 5s",
        )  # fmt: skip
        self.haproxy = Haproxy(self.environment, port, settings)
        wait_for(lambda: self._count_printers() >= printers, "the printers", 20.0)
        town.parameters |= {
            "hall": port, "printers": printers, "pause_s": round(pause_s, 1), "rows": self.rows, "strokes": strokes,
        }  # fmt: skip

    @property
    def access_log(self) -> str:
        return self.desk.access_log

    def choose_path(self, town: Town) -> str:
        """Return the path of tickets in a row."""
        return f"/tickets/{{n}}?row={town.rng.randrange(1, self.rows + 1)}"

    def order_ticket(self, path: str) -> None:
        """Order a ticket as a visitor does, and wait until the desk answers."""
        self.environment.client_net.sh(
            f"curl -s -m 6 -o /dev/null 'http://{self.haproxy.address}{path}' || :"
        )

    def _count_printers(self) -> int:
        listing = f"ss -Htn state established sport = :{self.queue.port}"
        return len(self.environment.host_net.sh(listing).splitlines())
