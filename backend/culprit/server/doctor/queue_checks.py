"""Checks of Redis or Valkey: reachable, version, eviction, and the lengths of queues."""

from __future__ import annotations

from typing import Any

from redis import Redis
from redis.exceptions import AuthenticationError, RedisError

from culprit.infra.settings import Settings
from culprit.server.doctor.results import ServiceCheck, get_first_line

NAME = "queue"
MIN_VERSION = (6, 2)
QUEUES = ("ssh", "parse", "default")
TIMEOUT_S = 3


def check_queue(config: Settings) -> tuple[ServiceCheck, dict[str, int] | None]:
    """Return the check, and the number of messages of each queue; None if it does not answer."""
    try:
        with Redis.from_url(
            config.redis_url, socket_connect_timeout=TIMEOUT_S, socket_timeout=TIMEOUT_S, retry=None
        ) as client:
            server: dict[str, Any] = client.info()
            lengths = {name: int(client.llen(name)) for name in QUEUES}
    except AuthenticationError:
        message = "The queue refuses the password of REDIS_URL, or REDIS_URL has none."
        return ServiceCheck(NAME, "problem", message, "export REDIS_URL=redis://:PASSWORD@HOST:6379/0"), None
    except (RedisError, OSError) as error:
        message = f"Redis or Valkey does not answer at REDIS_URL: {get_first_line(error)}."
        return ServiceCheck(NAME, "problem", message, 'redis-cli -u "$REDIS_URL" ping'), None
    except ValueError:
        message = "REDIS_URL is not an address of Redis or Valkey."
        return ServiceCheck(NAME, "problem", message, "export REDIS_URL=redis://:PASSWORD@HOST:6379/0"), None
    return judge_server(server), lengths


def judge_server(server: dict[str, Any]) -> ServiceCheck:
    """Return the check of a server that answers, from its INFO."""
    title = "Valkey" if "valkey_version" in server else "Redis"
    version = str(server.get("valkey_version") or server.get("redis_version") or "0.0")
    if tuple(int(part) for part in version.split(".")[:2]) < MIN_VERSION:
        message = f"{title} {version} is too old: Culprit needs {MIN_VERSION[0]}.{MIN_VERSION[1]} or newer."
        return ServiceCheck(NAME, "problem", message, "apt-get install valkey-server")
    policy = str(server.get("maxmemory_policy", "noeviction"))
    if policy != "noeviction":
        message = f"{title} may delete queued jobs when its memory is full (maxmemory-policy {policy})."
        return ServiceCheck(NAME, "warning", message, "redis-cli CONFIG SET maxmemory-policy noeviction")
    return ServiceCheck(NAME, "ok", f"{title} {version} answers.")
