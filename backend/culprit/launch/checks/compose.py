"""What the compose file must keep, beyond what a schema knows: who runs, what is open, what is secret."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

OURS = ("api", "worker-ssh", "worker-parse", "scheduler", "migrate", "bucket")
ENGINES = ("postgres", "redis", "s3")
ONE_SHOT = ("migrate", "bucket")
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


def faults(path: Path) -> list[str]:
    """One sentence per broken rule; empty where all hold. Raises OSError, yaml.YAMLError."""
    document = yaml.safe_load(path.read_text("utf-8"))
    services: dict[str, dict[str, Any]] = document.get("services", {})
    found = [f"{name}: the service is missing" for name in (*OURS, *ENGINES) if name not in services]
    images = {services[name].get("image") for name in OURS if name in services}
    if len(images) > 1:
        found.append(f"our services use {len(images)} images, not one: {sorted(map(str, images))}")
    for name, service in services.items():
        found += [f"{name}: {fault}" for fault in service_faults(name, service)]
        found += [
            f"{name}: depends on {other}, which is not there"
            for other in service.get("depends_on", {})
            if other not in services
        ]
    return found


def service_faults(name: str, service: dict[str, Any]) -> list[str]:
    """The rules for one service."""
    found = []
    user = str(service.get("user", "root")).split(":")[0]
    if user in {"root", "0"}:
        found.append("runs as root")
    if service.get("read_only") is not True:
        found.append("its file system is writable")
    if service.get("cap_drop") != ["ALL"]:
        found.append("keeps capabilities")
    if "no-new-privileges:true" not in service.get("security_opt", []):
        found.append("may gain privileges")
    if service.get("privileged") or service.get("network_mode") == "host":
        found.append("reaches into the host")
    image = str(service.get("image", ""))
    if ":" not in image or image.endswith(":latest"):
        found.append(f"its image {image!r} has no version")
    if "build" not in service and not PINNED.fullmatch(image):
        found.append(f"image {image!r} is not pinned by tag and digest")
    for port in service.get("ports", []):
        if not str(port).startswith("127.0.0.1:"):
            found.append(f"port {port} is open to others")
    check = service.get("healthcheck", {})
    if name in ONE_SHOT:
        if service.get("restart") != "no":
            found.append("ends by itself and is started again")
    elif not check.get("test") and name != "api":  # that of the image is the api's
        found.append("has no health check")
    for key, value in service.get("environment", {}).items():
        if SECRET.search(key) and not REQUIRED.search(str(value)):
            found.append(f"{key} is not asked for with ${{NAME:?what it is}}")
    return found
