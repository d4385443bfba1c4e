"""Build the image of the Dockerfile with buildah, as root and without a container engine."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from culprit.launcher.install import fetch_uv
from culprit.launcher.paths import ROOT

from tools.checks.compose_rules import BASE_IMAGE
from tools.checks.containers import base_images

IMAGE = "localhost/culprit-check:latest"


def build_image() -> str:
    """Build the image from the checkout, with the layers of earlier builds; return its name.

    Raises ContainerError.
    """
    dockerfile = (ROOT / "Dockerfile").read_text("utf-8")
    stages = {stage for _, stage in BASE_IMAGE.findall(dockerfile) if stage}
    bases = {image for image, _ in BASE_IMAGE.findall(dockerfile)} - stages
    base_images.ensure_base_images([base_images.name_base(image) for image in sorted(bases)])
    options = ["--isolation", "chroot", "--pull-never", "--network", "host", "--layers", "--tag", IMAGE]
    if fetch_uv.find_certificates(os.environ):
        options += ["--volume", f"{base_images.CERTIFICATES}:{base_images.CERTIFICATES}:ro"]
    with tempfile.TemporaryDirectory(prefix="culprit-image-") as place:
        file = Path(place) / "Dockerfile"
        file.write_text(base_images.replace_bases(dockerfile), "utf-8")
        base_images.run_buildah("build", *options, "--file", str(file), str(ROOT))
    return IMAGE
