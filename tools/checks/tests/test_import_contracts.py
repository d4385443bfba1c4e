"""Import contracts refuse a package without a layer and an import that points upward."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from culprit.launcher.paths import ROOT, VENV

LINT = VENV / "bin" / "lint-imports"
pytestmark = pytest.mark.skipif(not LINT.exists(), reason="./culprit test installs it")

#: Folder of a module, a statement that it must not have, and the import as the report names it.
REFUSED = (
    ("backend/culprit/hosts", "from culprit.captures import service", "culprit.captures"),
    ("backend/culprit/domain", "import time", "time"),
    ("backend/culprit/domain", "from culprit.infra import db", "culprit.infra"),
    ("collectors", "from culprit.domain import profiles", "culprit.domain"),
    ("collectors", "import subprocess", "subprocess"),
    ("backend/culprit/launcher", "from culprit.infra import settings", "culprit.infra.settings"),
    ("backend/culprit/cli", "from culprit.web.http import problem_details", "fastapi"),
    ("backend/culprit/infra", "from culprit.launcher import engines", "culprit.launcher"),
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the contracts report of a copy with a module for each refused import, and a package without a layer."""
    copy = tmp_path_factory.mktemp("contracts")
    ignore = shutil.ignore_patterns("tests", "__pycache__", "*.json")
    for folder in ("backend", "collectors"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", copy)
    for number, (folder, text, _) in enumerate(REFUSED):
        (copy / folder / f"refused{number}.py").write_text(text + "\n")
    (copy / "backend/culprit/storeroom").mkdir()
    (copy / "backend/culprit/storeroom/__init__.py").touch()
    env = dict(os.environ) | {"PYTHONPATH": f"{copy / 'backend'}:{copy}"}
    done = subprocess.run(
        [LINT, "--no-logo", "--no-cache"], cwd=copy, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout
    return done.stdout


@pytest.mark.parametrize(("number", "words"), [(at, item[2]) for at, item in enumerate(REFUSED)])
def test_upward_import_is_refused(report: str, number: int, words: str) -> None:
    lines = report.splitlines()
    begin = next(at for at, line in enumerate(lines) if f"refused{number}" in line)
    assert any(words in line for line in lines[begin : begin + 3]), report


def test_package_without_a_layer_is_refused(report: str) -> None:
    assert "storeroom" in report
