"""Check rules of the compose file that a schema cannot express: users, capabilities, ports, images and secrets."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

OURS = ("api", "worker-ssh", "worker-parse", "scheduler", "migrate", "bucket")
ENGINES = ("postgres", "redis", "s3")
RUN_ONCE = ("migrate", "bucket")
RESTARTED = {"unless-stopped", "always"}
SECRET = re.compile(r"PASSWORD|SECRET|ACCESS_KEY|REDISCLI_AUTH|DATABASE_URL|REDIS_URL")
REQUIRED = re.compile(r"\$\{[A-Z0-9_]+:\?[^}]+\}")
PINNED = re.compile(r"[^:@\s]+:[^:@\s]+@sha256:[0-9a-f]{64}")
BASE_IMAGE = re.compile(r"^FROM\s+(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?", re.IGNORECASE | re.MULTILINE)
FRONTEND_IMAGE = re.compile(r"^#\s*syntax=(\S+)", re.MULTILINE)


def find_unpinned_images(dockerfile: str) -> list[str]:
    """Return one sentence per image that the Dockerfile takes from a registry without tag and digest."""
    stages = {name for _, name in BASE_IMAGE.findall(dockerfile) if name}
    images = FRONTEND_IMAGE.findall(dockerfile) + [image for image, _ in BASE_IMAGE.findall(dockerfile)]
    return [
        f"image {image!r} is not pinned by tag and digest"
        for image in images
        if image not in stages and not PINNED.fullmatch(image)
    ]


def find_violations(path: Path) -> list[str]:
    """Return one sentence per violated rule; empty without violations. Raises OSError, yaml.YAMLError."""
    document = yaml.safe_load(path.read_text("utf-8"))
    services: dict[str, dict[str, Any]] = document.get("services", {})
    ours = [f"{name}: the service is missing" for name in (*OURS, *ENGINES) if name not in services]
    images = {services[name].get("image") for name in OURS if name in services}
    if len(images) > 1:
        ours.append(f"our services use {len(images)} images, not one: {sorted(map(str, images))}")
    for name, service in services.items():
        ours += [f"{name}: {fault}" for fault in service_faults(name, service)]
        ours += [
            f"{name}: depends on {other}, which is not there"
            for other in service.get("depends_on", {})
            if other not in services
        ]
    return ours


def service_faults(name: str, service: dict[str, Any]) -> list[str]:
    """Return the violations of one service."""
    results = []
    user = str(service.get("user", "root")).split(":")[0]
    if user in {"root", "0"}:
        results.append("runs as root")
    if service.get("read_only") is not True:
        results.append("its file system is writable")
    if service.get("cap_drop") != ["ALL"]:
        results.append("keeps capabilities")
    if "no-new-privileges:true" not in service.get("security_opt", []):
        results.append("may gain privileges")
    if service.get("privileged") or service.get("network_mode") == "host":
        results.append("reaches into the host")
    image = str(service.get("image", ""))
    if ":" not in image or image.endswith(":latest"):
        results.append(f"its image {image!r} has no version")
    if "build" not in service and not PINNED.fullmatch(image):
        results.append(f"image {image!r} is not pinned by tag and digest")
    for port in service.get("ports", []):
        if not str(port).startswith("127.0.0.1:"):
            results.append(f"port {port} is open to others")
    check = service.get("healthcheck", {})
    if name in RUN_ONCE:
        if service.get("restart") != "no":
            results.append("runs once and is started again")
        return results + secret_faults(service)
    if service.get("restart") not in RESTARTED:
        results.append("is not started again after it ended")
    if not service.get("stop_grace_period"):
        results.append("has no stop_grace_period: what it does is cut off after 10 s")
    if name in OURS and service.get("init") is not True:
        results.append("has no init: children whose parent was killed stay as zombies")
    if other := find_checked_service(name, check):
        results.append(f"its health check asks {other}, and fails with it")
    if not check.get("test") and name != "api":  # the api uses the health check of the image
        results.append("has no health check")
    return results + secret_faults(service)


def secret_faults(service: dict[str, Any]) -> list[str]:
    """Return a violation for each secret that has a value in the file or is optional."""
    return [
        f"{key} is not asked for with ${{NAME:?what it is}}"
        for key, value in service.get("environment", {}).items()
        if SECRET.search(key) and not REQUIRED.search(str(value))
    ]


def find_checked_service(name: str, check: dict[str, Any]) -> str | None:
    """Return another service that the health check of `name` requests, or None."""
    text = str(check.get("test", ""))
    return next((other for other in (*OURS, *ENGINES) if other != name and f"//{other}:" in text), None)
