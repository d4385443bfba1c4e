"""Export and import of incidents by the command line."""

from __future__ import annotations

import zipfile
from pathlib import Path
from uuid import UUID

import pytest
from culprit.infra.db.session import Database
from culprit.jobs.incidents.compare_import import compare_import
from culprit.tests.support.command_line import REFUSED, USAGE, Cli
from culprit.tests.support.runs import make_host

pytestmark = pytest.mark.long(20)


def test_export_and_import(cli: Cli, db: Database, tmp_path: Path) -> None:
    make_host(db, "shop-db7")
    result = cli.json(
        "incident",
        "create",
        "shop-db7 is slow",
        "--host",
        "shop-db7",
        "--playbook",
        "connect-port-exhaustion",
    )
    number, file, redacted = str(result["number"]), tmp_path / "whole.zip", tmp_path / "redacted.zip"
    cli("incident", "export", number, str(file))
    assert zipfile.is_zipfile(file) and cli.last is not None and str(file.stat().st_size) in cli.last.stderr
    cli("incident", "export", number, str(file), status=USAGE)
    cli("incident", "export", number, str(redacted), "--redacted")
    with zipfile.ZipFile(redacted) as archive:
        assert not any(b"shop-db7" in archive.read(name) for name in archive.namelist())
    imported = cli.json("incident", "import", str(file))
    assert (
        imported["new"] and imported["number"] != result["number"] and imported["origin"]["compared"] is None
    )
    again = cli.json("incident", "create", "again", "--host", "shop-db7")
    assert [host["can_capture"] for host in again["hosts"]] == [True], "not the imported one of the same name"
    assert compare_import(UUID(imported["id"]))
    reported = cli("incident", "import", str(file), "--wait")
    steps = len(result["steps"]) + len(result["hypotheses"])
    assert (
        f"is incident #{imported['number']}" in reported and f"{steps} of {steps} verdicts equal" in reported
    )
    cli("incident", "import", str(tmp_path / "nothing"), status=USAGE)
    (tmp_path / "x.zip").write_bytes(b"PK")
    cli("incident", "import", str(tmp_path / "x.zip"), status=REFUSED)
    assert cli.last is not None and "culprit incident export" in cli.last.stderr
