"""Placeholders of messages that code leaves empty."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.checks import message_lint

KEY = "capture.plan_unknown"  # "… {plan} … {plans}."


def params_of(source: str) -> frozenset[str] | None:
    (use,) = message_lint.uses_in("x.py", source)
    assert use.key == KEY
    return use.params


@pytest.mark.parametrize(
    ("source", "params"),
    [
        (f'raise Invalid("{KEY}", plan=plan, plans=plans)', {"plan", "plans"}),
        (f'Sentence("{KEY}", {{"plan": plan}})', {"plan"}),
        (f'row.reason = {{"key": "{KEY}", "params": {{"plan": 1}}}}', {"plan"}),
        (f'Sentence("{KEY}")', set()),
        (f'Sentence("{KEY}", params)', None),
        (f'Invalid("{KEY}", **params)', None),
        (f'OverloadedError("{KEY}")', {"retry_after_s"}),
    ],
)
def test_uses_in_reads_literal_parameters(source: str, params: set[str] | None) -> None:
    assert params_of(source) == params


def test_find_unfilled_names_the_line_and_the_placeholder(tmp_path: Path) -> None:
    folder = tmp_path / "backend" / "culprit"
    folder.mkdir(parents=True)
    (folder / "x.py").write_text(f'\nraise Invalid("{KEY}", plan="x")\n', "utf-8")
    assert message_lint.find_unfilled(tmp_path) == [f"backend/culprit/x.py:2: {KEY} needs plans"]


def test_find_unfilled_reads_kinds_of_ssh_errors(tmp_path: Path) -> None:
    folder = tmp_path / "backend" / "culprit"
    folder.mkdir(parents=True)
    (folder / "x.py").write_text('\nraise SshError("cut")\n', "utf-8")
    assert message_lint.find_unfilled(tmp_path) == ["backend/culprit/x.py:2: ssh.cut needs reason"]
