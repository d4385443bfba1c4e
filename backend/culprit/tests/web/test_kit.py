"""Small things that everything leans on: ids, cursors, sentences."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from culprit.config import REPOSITORY, Settings
from culprit.kit import sentences
from culprit.kit.clock import to_ns
from culprit.kit.errors import CulpritError
from culprit.kit.sort_key import decode, encode
from culprit.kit.uuid7 import uuid7
from hypothesis import given
from hypothesis import strategies as st

PLACE = re.compile(r"\{(\w+)\}")


def test_ids_are_version_7_and_keep_their_order() -> None:
    before = time.time_ns() // 1_000_000
    made = [uuid7() for _ in range(20_000)]
    assert made == sorted(made) and len(set(made)) == len(made)
    assert {one.version for one in made} == {7} and {one.variant for one in made} == {
        UUID(int=made[0].int).variant
    }
    assert before <= made[0].int >> 80 <= time.time_ns() // 1_000_000
    assert uuid7(at_ms=5).int >> 80 == 5


@given(
    st.integers(-(2**62), 2**62)
    | st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), max_size=50)
)
def test_a_cursor_comes_back(value: int | str) -> None:
    assert decode(encode(value), type(value)) == value


@given(st.text(max_size=60))
def test_no_cursor_is_a_crash(text: str) -> None:
    for kind in (UUID, int, str):
        try:
            decode(text, kind)
        except CulpritError as error:
            assert error.status == 422


@given(st.datetimes(min_value=datetime(1990, 1, 1), max_value=datetime(2200, 1, 1), timezones=st.just(UTC)))
def test_nanoseconds_are_exact(at: datetime) -> None:
    ns = to_ns(at)
    assert (
        ns % 1000 == 0
        and datetime.fromtimestamp(ns // 10**9, UTC).replace(microsecond=ns // 1000 % 10**6) == at
    )


def test_both_languages_say_the_same_things_with_the_same_figures() -> None:
    en, zh = sentences.catalogue("en"), sentences.catalogue("zh")
    assert set(en) == set(zh)
    for key in en:
        assert set(PLACE.findall(en[key])) == set(PLACE.findall(zh[key])), key
    for locale in sentences.LOCALES:
        text = (Path(sentences.__file__).parent / f"{locale}.yaml").read_text(encoding="utf-8")
        keys = [line.split(":")[0] for line in text.splitlines() if line and not line.startswith((" ", "#"))]
        assert keys == sorted(set(keys)), "sorted, and each once"


def test_every_error_that_is_raised_has_its_sentence() -> None:
    raised = re.compile(
        r"(?:Invalid|Conflict|NotFound|Forbidden|Unauthenticated|TooMany|TooLarge|Unavailable)\(\s*f?\"([a-z_]+\.[a-z_]+)\""
    )
    missing = {
        key
        for path in (REPOSITORY / "backend" / "culprit").rglob("*.py")
        if "/tests/" not in str(path)
        for key in raised.findall(path.read_text(encoding="utf-8"))
        if key not in sentences.catalogue("en")
    }
    assert missing == set()


def test_a_sentence_is_said_and_an_unknown_one_is_shown() -> None:
    assert "in 5 s" in sentences.say("auth.too_many_attempts", {"retry_after_s": 5})
    assert sentences.say("no.such", {"a": 1}) == "no.such (a=1)"
    assert sentences.say("auth.needed", locale="xx") == sentences.say("auth.needed")
    assert "{" not in sentences.say("host.name_taken", {"name": "{name}{x}"}).replace("{name}{x}", "")


def test_the_browser_gets_the_same_sentences(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "culprit.kit.sentences", str(tmp_path)], check=True, cwd=REPOSITORY / "backend"
    )
    for locale in sentences.LOCALES:
        written = json.loads((tmp_path / f"server.{locale}.json").read_text(encoding="utf-8"))
        assert written == dict(sentences.catalogue(locale)) and list(written) == sorted(written)
        kept = REPOSITORY / "frontend" / "src" / "i18n" / f"server.{locale}.json"
        assert json.loads(kept.read_text(encoding="utf-8")) == written, "run python -m culprit.kit.sentences"


@pytest.mark.parametrize(
    ("given", "kombu"),
    [
        ("unix:///run/v.sock", "redis+socket:///run/v.sock"),
        ("redis://h:1/0", "redis://h:1/0"),
        ("rediss://h", "rediss://h"),
    ],
)
def test_one_broker_address_has_two_spellings(given: str, kombu: str) -> None:
    assert Settings(redis_url=given).broker_url == kombu


def test_one_database_address_has_two_spellings() -> None:
    for scheme in ("postgres", "postgresql"):
        given = f"{scheme}://u:p@/db?host=/run/x"
        assert Settings(database_url=given).sqlalchemy_url == "postgresql+psycopg://u:p@/db?host=/run/x"
    assert (
        Settings(public_url="https://x").cookies_secure and not Settings(public_url="http://x").cookies_secure
    )
