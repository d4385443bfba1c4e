"""IDs, cursors and messages."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from culprit.domain import messages
from culprit.infra.db.clock import to_ns
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.settings import REPOSITORY, Settings
from culprit.web.errors import CulpritError
from culprit.web.http.page_cursor import decode_cursor, encode_cursor
from hypothesis import given
from hypothesis import strategies as st

PLACE = re.compile(r"\{(\w+)\}")


def test_new_uuid7_returns_ordered_version_7_ids() -> None:
    before = time.time_ns() // 1_000_000
    results = [new_uuid7() for _ in range(20_000)]
    assert results == sorted(results) and len(set(results)) == len(results)
    assert {item.version for item in results} == {7} and {item.variant for item in results} == {
        UUID(int=results[0].int).variant
    }
    assert before <= results[0].int >> 80 <= time.time_ns() // 1_000_000
    assert new_uuid7(at_ms=5).int >> 80 == 5


@given(
    st.integers(-(2**62), 2**62)
    | st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), max_size=50)
)
def test_cursor_round_trips(value: int | str) -> None:
    assert decode_cursor(encode_cursor(value), type(value)) == value


@given(st.text(max_size=60))
def test_cursor_refuses_any_other_text(text: str) -> None:
    for kind in (UUID, int, str):
        try:
            decode_cursor(text, kind)
        except CulpritError as error:
            assert error.status == 422


@given(st.datetimes(min_value=datetime(1990, 1, 1), max_value=datetime(2200, 1, 1), timezones=st.just(UTC)))
def test_nanoseconds_are_exact(at: datetime) -> None:
    ns = to_ns(at)
    assert (
        ns % 1000 == 0
        and datetime.fromtimestamp(ns // 10**9, UTC).replace(microsecond=ns // 1000 % 10**6) == at
    )


def test_languages_have_equal_messages_and_placeholders() -> None:
    en, zh = messages.load_messages("en"), messages.load_messages("zh")
    assert set(en) == set(zh)
    for key in en:
        assert set(PLACE.findall(en[key])) == set(PLACE.findall(zh[key])), key
    for path in messages.list_message_files():
        lines = path.read_text(encoding="utf-8").splitlines()
        keys = [line.split(":")[0] for line in lines if line and not line.startswith((" ", "#"))]
        assert keys == sorted(set(keys)), f"{path}: sorted, and each once"


def test_each_raised_error_has_a_message() -> None:
    raised = re.compile(r"[A-Z]\w+Error\(\s*\"([a-z_]+\.[a-z_]+)\"")
    missing = {
        key
        for path in (REPOSITORY / "backend" / "culprit").rglob("*.py")
        if "/tests/" not in str(path)
        for key in raised.findall(path.read_text(encoding="utf-8"))
        if key not in messages.load_messages("en")
    }
    assert missing == set()


def test_render_message_returns_text_or_unknown_key() -> None:
    assert "in 5 s" in messages.render_message("auth.too_many_attempts", {"retry_after_s": 5})
    assert messages.render_message("no.such", {"a": 1}) == "no.such (a=1)"
    assert messages.render_message("auth.needed", locale="xx") == messages.render_message("auth.needed")
    assert "{" not in messages.render_message("host.name_taken", {"name": "{name}{x}"}).replace(
        "{name}{x}", ""
    )


def test_browser_messages_equal_server_messages(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "culprit.domain.messages", str(tmp_path)],
        check=True,
        cwd=REPOSITORY,
        env=os.environ | {"PYTHONPATH": f"{REPOSITORY / 'backend'}:{REPOSITORY}"},
    )
    for locale in messages.LOCALES:
        files = {
            path.name: path.read_text(encoding="utf-8") for path in tmp_path.glob(f"server.*.{locale}.json")
        }
        parts = [json.loads(text) for text in files.values()]
        written = {key: text for part in parts for key, text in part.items()}
        assert written == dict(messages.load_messages(locale)) and sum(map(len, parts)) == len(written)
        assert all(list(part) == sorted(part) for part in parts)
        stored = REPOSITORY / "frontend" / "src" / "i18n"
        assert {name: (stored / name).read_text(encoding="utf-8") for name in files} == files, (
            "run python -m culprit.domain.messages"
        )


@pytest.mark.parametrize(
    ("url", "kombu"),
    [
        ("unix:///run/v.sock", "redis+socket:///run/v.sock"),
        ("redis://h:1/0", "redis://h:1/0"),
        ("rediss://h", "rediss://h"),
    ],
)
def test_broker_url_is_translated_for_kombu(url: str, kombu: str) -> None:
    assert Settings(redis_url=url).broker_url == kombu


def test_database_url_is_translated_for_sqlalchemy() -> None:
    for scheme in ("postgres", "postgresql"):
        supplied = f"{scheme}://u:p@/db?host=/run/x"
        assert Settings(database_url=supplied).sqlalchemy_url == "postgresql+psycopg://u:p@/db?host=/run/x"
    assert (
        Settings(public_url="https://x").cookies_secure and not Settings(public_url="http://x").cookies_secure
    )
