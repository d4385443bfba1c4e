"""A faculty: a Go service for enrolments behind nginx, and a gunicorn that knows free places."""

from __future__ import annotations

from lab.real.services.golang import GoService
from lab.real.services.gunicorn import Gunicorn
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import ApiServer


class Faculty:
    """The services that run. `upstream` is what nginx needs for them, `places_per_s` what all workers can do."""

    def __init__(self, town: Town) -> None:
        """Start the plan on another host, the places and the enrolments."""
        rng, self.environment = town.rng, town.environment
        environment = self.environment
        (port, places_port), plan_port = town.take_ports(2), rng.randrange(13_000, 13_300)
        self.plan_ms = rng.uniform(60, 90)
        plan = ApiServer(
            environment, environment.client_address, plan_port, client_side=True,
            delay_ms=self.plan_ms, work_us=rng.uniform(100, 200), answer_bytes=rng.randrange(500, 3_000),
        )  # fmt: skip
        workers = rng.randrange(3, 6)
        self.places_per_s = workers * 1_000 / (self.plan_ms + 5)
        self.places = Gunicorn(
            environment, places_port, "campus/places_app.py", address="127.0.0.1", workers=workers,
            backlog=rng.choice((512, 1024, 2048)), access_log=False,
            variables={"PLAN_URL": f"http://{plan.address}", "ROUNDS": str(rng.randrange(300, 900))},
        )  # fmt: skip
        self.service = GoService(
            environment, "campus/enrolments.go", port, "-places", f"127.0.0.1:{places_port}", "-rounds",
            rng.randrange(500, 2_000),
        )  # fmt: skip
        self._options = self.service.options
        self.start(timeout_ms=rng.choice((2_000, 3_000)), attempts=2)
        self.upstream = build_upstream("enrolments", (f"{environment.host_address}:{port}",))
        town.parameters |= {"enrolments": port, "place_workers": workers, "plan_ms": round(self.plan_ms)}

    @property
    def pid(self) -> int:
        return self.service.pid

    def start(self, timeout_ms: int, attempts: int) -> None:
        """Start the enrolments; an attempt to get a place may take so long, and so many are made."""
        self.service.options = (*self._options, "-timeout", f"{timeout_ms}ms", "-attempts", attempts)
        self.service.start()

    def replace(self, timeout_ms: int, attempts: int) -> None:
        """Start the enrolments again, with other settings."""
        self.service.stop()
        self.start(timeout_ms, attempts)

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "enrolments")
