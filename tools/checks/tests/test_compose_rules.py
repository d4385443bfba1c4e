"""The compose file keeps its rules, names commands that exist, and the rules catch what they are for."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from culprit.infra.settings import Settings
from culprit.launcher.paths import ROOT

from tools.checks import compose_rules

FILE = ROOT / "docker-compose.yml"


@pytest.fixture
def document() -> dict[str, Any]:
    return dict(yaml.safe_load(FILE.read_text()))


def test_keeps_its_rules() -> None:
    assert compose_rules.find_violations(FILE) == []


BREAKS: dict[str, tuple[str, Callable[[dict[str, Any]], object]]] = {
    "root": ("runs as root", lambda s: s["api"].pop("user")),
    "writable": ("writable", lambda s: s["redis"].update(read_only=False)),
    "capabilities": ("capabilities", lambda s: s["s3"].pop("cap_drop")),
    "privileges": ("privileges", lambda s: s["api"].pop("security_opt")),
    "host": ("into the host", lambda s: s["worker-ssh"].update(network_mode="host")),
    "latest": ("no version", lambda s: s["postgres"].update(image="postgres:latest")),
    "unpinned": ("not pinned", lambda s: s["postgres"].update(image="postgres:18.4-bookworm")),
    "open": ("open to others", lambda s: s["api"].update(ports=["8040:8040"])),
    "no check": ("health check", lambda s: s["redis"].pop("healthcheck")),
    "secret": (
        "REDIS_URL is not asked",
        lambda s: s["api"]["environment"].update(REDIS_URL="redis://:pw@redis"),
    ),
    "gone": ("scheduler: the service is missing", lambda s: s.pop("scheduler")),
    "images": ("2 images", lambda s: s["api"].update(image="other:1")),
    "depends": ("which is not there", lambda s: s["api"].update(depends_on={"mysql": {}})),
    "not again": ("not started again", lambda s: s["worker-ssh"].update(restart="on-failure:3")),
    "engine not again": ("not started again", lambda s: s["redis"].pop("restart")),
    "cut off": ("stop_grace_period", lambda s: s["scheduler"].pop("stop_grace_period")),
    "zombies": ("has no init", lambda s: s["worker-parse"].pop("init")),
    "asks another": (
        "asks api",
        lambda s: s["scheduler"].update(healthcheck={"test": ["CMD", "curl", "http://api:8040/readyz"]}),
    ),
    "again": ("started again", lambda s: s["migrate"].update(restart="always")),
}


@pytest.mark.parametrize("name", BREAKS)
def test_rules_catch(name: str, document: dict[str, Any], tmp_path: Path) -> None:
    words, break_it = BREAKS[name]
    break_it(document["services"])
    (tmp_path / "c.yml").write_text(yaml.safe_dump(document))
    assert any(words in fault for fault in compose_rules.find_violations(tmp_path / "c.yml"))


def test_dockerfile_images_are_pinned() -> None:
    text = (ROOT / "Dockerfile").read_text("utf-8")
    assert compose_rules.find_unpinned_images(text) == []
    assert compose_rules.BASE_IMAGE.findall(text), "the Dockerfile takes no image: the check looks at nothing"


@pytest.mark.parametrize(
    ("line", "image"),
    [
        ("FROM debian", "debian"),
        ("FROM --platform=linux/amd64 node:24 AS web", "node:24"),
        ("FROM node@sha256:" + "0" * 64, "node@sha256:" + "0" * 64),
        ("# syntax=docker/dockerfile:1", "docker/dockerfile:1"),
    ],
)
def test_dockerfile_check_finds_unpinned_image(line: str, image: str) -> None:
    assert compose_rules.find_unpinned_images(line) == [f"image {image!r} is not pinned by tag and digest"]


def test_dockerfile_check_accepts_stages() -> None:
    pinned = "python:3.11@sha256:" + "0" * 64
    assert compose_rules.find_unpinned_images(f"FROM {pinned} AS base\nFROM base AS packages\n") == []


def test_commands_exist(document: dict[str, Any]) -> None:
    """Modules and files that the containers start, as the image lays them out."""
    for name in compose_rules.OURS:
        command = document["services"][name]["command"]
        if command[0] == "python":
            assert importlib.util.find_spec(command[2]) is not None
        elif command[0] == "uvicorn":
            assert command[1] == "--factory"
            module, _, function = command[2].partition(":")
            assert callable(getattr(importlib.import_module(module), function))
        elif command[0] == "alembic":
            assert (ROOT / command[2]).is_file()
        else:
            assert name == "bucket"


def test_settings_of_the_containers_are_settings(document: dict[str, Any]) -> None:
    known = {str(field.validation_alias) for field in Settings.model_fields.values()}
    environment = set(document["services"]["api"]["environment"])
    assert environment <= known


def test_the_image_copies_what_there_is() -> None:
    text = (ROOT / "Dockerfile").read_text()
    for line in re.findall(r"^COPY (?!--from)(.+)$", text, re.M):
        for source in line.split()[:-1]:
            assert (ROOT / source).exists(), source
    assert re.search(r"^USER 10001", text, re.M)
