"""How the image is built and run without a container engine: stand-ins for base images, commands of the roles."""

from __future__ import annotations

from pathlib import Path

import pytest
from culprit.launcher.paths import ROOT

from tools.checks.compose_rules import BASE_IMAGE
from tools.checks.containers import base_images, go_tools, run_roles


def test_every_base_image_has_a_stand_in() -> None:
    dockerfile = base_images.replace_bases((ROOT / "Dockerfile").read_text("utf-8"))
    stages = {stage for _, stage in BASE_IMAGE.findall(dockerfile) if stage}
    images = {image for image, _ in BASE_IMAGE.findall(dockerfile)} - stages
    assert images == {f"{base_images.PREFIX}/{kind}:{base_images.REVISION}" for kind in ("python", "node")}
    assert "@sha256" not in dockerfile.split("\n", 1)[1]


def test_unknown_base_image_is_refused() -> None:
    with pytest.raises(base_images.ContainerError, match="no stand-in for the base image golang"):
        base_images.replace_bases("FROM golang:1.26@sha256:0 AS build\n")


def test_roles_run_the_commands_of_the_compose_file_as_the_user_of_the_image(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_roles.os, "chown", lambda *_: None)
    roles = run_roles.ImageRoles("container", tmp_path, {"REDIS_URL": "redis://x"})
    command = roles.build_command("api", *roles.get_compose_command("api"))
    assert command[command.index("--user") + 1] == "10001:10001"
    inside = command[command.index("--") + 1 :]
    assert inside[0] == "uvicorn" and inside[inside.index("--port") + 1] == str(roles.port)
    assert "REDIS_URL=redis://x" in command
    assert (tmp_path / "tmp-api").is_dir() and (tmp_path / "home").is_dir()
    for role in run_roles.LONG_RUNNING:
        assert roles.get_compose_command(role)


def test_programs_are_pinned_and_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert all(module.rpartition("@")[2].startswith("v") for module in go_tools.MODULES.values())
    assert go_tools.find_program("helm") is None
    program = tmp_path / "culprit" / "go" / "helm-v3.22.0" / "helm"
    program.parent.mkdir(parents=True)
    program.touch()
    assert go_tools.find_program("helm") == go_tools.ensure_program("helm") == program
