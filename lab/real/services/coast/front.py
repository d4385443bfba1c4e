"""The nginx in front of services of a coast."""

from __future__ import annotations

from lab.real.services.nginx import Nginx, NginxSettings
from lab.real.services.towns.town import Town


def start_front(town: Town, server_lines: str, http_lines: str = "") -> Nginx:
    """Start an nginx with these locations and upstreams."""
    port, workers = town.take_ports(1)[0], town.rng.choice((4, 6))
    settings = NginxSettings(worker_processes=workers, http_lines=http_lines, server_lines=server_lines)
    nginx = Nginx(town.environment, port, settings)
    town.parameters |= {"port": port, "workers": workers}
    return nginx
