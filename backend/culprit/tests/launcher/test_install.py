"""When packages are installed again."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path

import pytest
from culprit.launcher.install import locked_packages as install
from culprit.launcher.progress import LauncherError, Progress


def write_lock(folder: Path, versions: dict[str, dict[str, object]]) -> None:
    packages = {"": {"name": "x"}, **{f"node_modules/{name}": entry for name, entry in versions.items()}}
    (folder / "package-lock.json").write_text(json.dumps({"packages": packages}))


def write_installed(folder: Path, versions: dict[str, str]) -> None:
    (folder / "node_modules").mkdir(exist_ok=True)
    packages = {f"node_modules/{name}": {"version": version} for name, version in versions.items()}
    (folder / "node_modules/.package-lock.json").write_text(json.dumps({"packages": packages}))


def test_npm_packages_are_compared_with_the_lock(tmp_path: Path) -> None:
    write_lock(
        tmp_path,
        {
            "a": {"version": "1"},
            "test": {"version": "1", "dev": True},
            "other-machine": {"version": "1", "optional": True},
        },
    )
    assert not install.has_npm_packages(tmp_path, dev=False)
    write_installed(tmp_path, {"a": "1"})
    assert install.has_npm_packages(tmp_path, dev=False)
    assert not install.has_npm_packages(tmp_path, dev=True)
    write_installed(tmp_path, {"a": "1", "test": "1"})
    assert install.has_npm_packages(tmp_path, dev=True)
    write_installed(tmp_path, {"a": "2", "test": "1"})
    assert not install.has_npm_packages(tmp_path, dev=False)


def test_failed_tool_is_reported_with_its_message() -> None:
    with pytest.raises(LauncherError, match=r"(?s)thing failed \(exit code 3\).*it broke"):
        install.run_command(["sh", "-c", "echo it broke; exit 3"], {"PATH": "/usr/bin:/bin"}, "thing")


def test_nothing_is_installed_twice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(install, "STAMP", tmp_path / "stamp")
    assert install.load_installed_groups() is None
    lock = install.hash_files(install.LOCK_FILES)
    (tmp_path / "stamp").write_text(f"{lock}\nembedded node\n")
    assert install.load_installed_groups() == {"embedded", "node"}
    install.install_python_packages(["embedded"], Progress())  # would fail: it must not run
    (tmp_path / "stamp").write_text("other\nembedded\n")
    assert install.load_installed_groups() is None


def test_tools_get_the_certificates_that_were_named(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("")
    result = install.build_tool_environment({"PIP_CERT": str(tmp_path / "ca.pem"), "VIRTUAL_ENV": "/x"})
    assert result["SSL_CERT_FILE"] == result["NODE_EXTRA_CA_CERTS"] == str(tmp_path / "ca.pem")
    assert "VIRTUAL_ENV" not in result


def test_installations_exclude_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "TOOLS", tmp_path)
    with (
        install.hold_install_lock(Progress()),
        (tmp_path / "install.lock").open("a") as other,
        pytest.raises(BlockingIOError),
    ):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with (tmp_path / "install.lock").open("a") as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
