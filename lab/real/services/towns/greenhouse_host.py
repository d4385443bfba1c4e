"""Greenhouses: their climate in an InfluxDB behind nginx, on a volume that also holds exports of earlier years."""

from __future__ import annotations

from lab.real.services.nginx import Nginx, NginxSettings, build_proxy, build_upstream
from lab.real.services.towns.influxdb import InfluxDb
from lab.real.services.towns.town import Town
from lab.real.services.towns.volumes import mount_with_old_files

QUERY = (
    "/query?db=climate&q=SELECT+mean(value)+FROM+air+WHERE+house%3D%27{{n}}%27+AND+time+>+now()-{minutes}m"
)
LINE = "air,house={n},sensor=a value={v}"


class Greenhouses:
    """The services that run. `town` has the neighbors and the clients, `old` is a directory of old exports."""

    def __init__(self, town: Town) -> None:
        """Mount the volume, and start InfluxDB and nginx."""
        self.town, self.environment, self.rng = town, town.environment, town.rng
        environment, rng = town.environment, town.rng
        self.volume = f"/srv/{rng.choice(('climate', 'metrics', 'data'))}"
        self.old = mount_with_old_files(environment, rng, self.volume, rng.randrange(200, 400))
        port, influx_port = town.take_ports(2)
        self.influxdb = InfluxDb(
            environment, influx_port, f"{self.volume}/influxdb", "climate", rng.choice((50, 100, 200))
        )
        lines = NginxSettings(
            http_lines=build_upstream("climate", (self.influxdb.address,)),
            server_lines=build_proxy("/", "climate"),
        )
        self.nginx = Nginx(environment, port, lines)
        town.parameters |= {"port": port, "volume": self.volume}

    def list_requests(self) -> list[str]:
        """Return what clients ask for: values that are sent, and means that are shown."""
        high = self.rng.randrange(400, 3_000)
        sent = [f"POST /write?db=climate 60 {high}"] * self.rng.randrange(2, 4)
        return sent + [f"GET {QUERY.format(minutes=self.rng.choice((5, 10, 30)))} 0 0"] * self.rng.randrange(
            2, 4
        )

    def start_clients(self, rate: float) -> None:
        """Start sensors and readers, and measure the healthy phase."""
        houses = self.rng.randrange(20, 90)
        self.town.start_senders(self.nginx.address, rate, self.list_requests(), LINE, range_=houses)
