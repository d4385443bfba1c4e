"""The packages of real software: which are missing, and that no service starts while they are installed."""

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from tools.checks import packages


def test_list_missing_set_names_what_dpkg_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("dpkg-query") is None:
        pytest.skip("no dpkg")
    monkeypatch.setitem(packages.SETS, "some", ("dpkg", "no-such-package-of-debian"))
    assert packages.list_missing_set("some") == ["no-such-package-of-debian"]
    monkeypatch.setenv("PATH", str(tmp_path))
    assert packages.list_missing_set("some") == ["dpkg", "no-such-package-of-debian"]


def test_forbid_service_starts_removes_its_policy(tmp_path: Path) -> None:
    policy = tmp_path / "policy-rc.d"
    with pytest.raises(RuntimeError), packages.forbid_service_starts(policy):
        assert subprocess.run([policy], check=False).returncode == 101
        assert stat.S_IMODE(policy.stat().st_mode) == 0o755
        raise RuntimeError
    assert not policy.exists()


def test_forbid_service_starts_keeps_a_foreign_policy(tmp_path: Path) -> None:
    policy = tmp_path / "policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 0\n")
    with packages.forbid_service_starts(policy):
        pass
    assert policy.read_text() == "#!/bin/sh\nexit 0\n"


def test_install_set_names_the_command_where_it_may_not_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(packages.SETS, "some", ("no-such-package-of-debian",))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert packages.install_set("some") == f"sudo {packages.INSTALL_COMMAND} some"


def test_sets_have_no_package_of_the_tests_only() -> None:
    assert len(set(packages.REAL_SOFTWARE)) == len(packages.REAL_SOFTWARE)
    of_tests = {*packages.VARIANTS, "musl-tools", "chromium-headless-shell"}
    assert not of_tests & set(packages.SETS["real"])


def test_set_of_real_software_includes_the_programs_of_the_lab() -> None:
    assert {"openssh-server", "iptables", "libc6-dev", "nginx-light"} <= set(packages.SETS["real"])
    assert len(set(packages.SETS["real"])) == len(packages.SETS["real"])
