"""Import contracts refuse a package without a layer and an import that points upward."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from culprit.launcher.paths import ROOT, VENV

LINT = VENV / "bin" / "lint-imports"
pytestmark = pytest.mark.skipif(not LINT.exists(), reason="./culprit test installs it")


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("backend/culprit/storeroom/__init__.py", "", "storeroom"),
        ("backend/culprit/hosts/zz.py", "from culprit.captures import service", "culprit.captures"),
        ("backend/culprit/domain/zz.py", "import time", "time"),
        ("backend/culprit/domain/zz.py", "from culprit.infra import db", "culprit.infra"),
        ("collectors/zz.py", "from culprit.domain import profiles", "culprit.domain"),
        ("collectors/zz.py", "import subprocess", "subprocess"),
        ("backend/culprit/launcher/zz.py", "from culprit.infra import settings", "culprit.infra.settings"),
        ("backend/culprit/cli/zz.py", "from culprit.web.http import problem_details", "fastapi"),
        ("backend/culprit/infra/zz.py", "from culprit.launcher import engines", "culprit.launcher"),
    ],
)
def test_refuses(file: str, text: str, words: str, tmp_path: Path) -> None:
    ignore = shutil.ignore_patterns("tests", "__pycache__", "*.json")
    for folder in ("backend", "collectors"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    target = tmp_path / file
    target.parent.mkdir(exist_ok=True)
    target.write_text(text + "\n")
    env = dict(os.environ) | {"PYTHONPATH": f"{tmp_path / 'backend'}:{tmp_path}"}
    done = subprocess.run(
        [LINT, "--no-logo", "--no-cache"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout
    assert words in done.stdout
