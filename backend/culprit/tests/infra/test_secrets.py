"""Secrets at rest open only with their key, in their row, unchanged."""

from __future__ import annotations

import dataclasses
import secrets as random

import pytest
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.settings import Settings, decode_key
from culprit.infra.vault import SecretUnreadableError, Vault
from hypothesis import given
from hypothesis import strategies as st

OLD, NEW = random.token_bytes(32), random.token_bytes(32)


@given(st.binary(max_size=5000))
def test_what_was_sealed_opens(secret: bytes) -> None:
    vault, row = Vault({1: OLD}, 1), new_uuid7()
    sealed = vault.seal(row, secret)
    assert vault.open(row, sealed) == secret
    assert len(secret) < 8 or secret not in sealed.ciphertext + sealed.wrapped_key


def test_seal_is_different_each_time() -> None:
    vault, row = Vault({1: OLD}, 1), new_uuid7()
    item, two = vault.seal(row, b"same"), vault.seal(row, b"same")
    assert (
        item.nonce != two.nonce and item.ciphertext != two.ciphertext and item.wrapped_key != two.wrapped_key
    )


def test_it_does_not_open_in_another_row() -> None:
    vault = Vault({1: OLD}, 1)
    sealed = vault.seal(new_uuid7(), b"secret")
    with pytest.raises(SecretUnreadableError):
        vault.open(new_uuid7(), sealed)


@pytest.mark.parametrize("field", ["ciphertext", "nonce", "wrapped_key"])
def test_a_changed_byte_is_noticed(field: str) -> None:
    vault, row = Vault({1: OLD}, 1), new_uuid7()
    sealed = vault.seal(row, b"secret")
    value = bytearray(getattr(sealed, field))
    value[len(value) // 2] ^= 1
    for changed in (bytes(value), b"", bytes(value[:5])):
        with pytest.raises(SecretUnreadableError) as error:
            vault.open(row, dataclasses.replace(sealed, **{field: changed}))
        assert "secret" not in str(error.value).replace("SecretUnreadable", "")


def test_a_moved_key_version_is_noticed() -> None:
    row = new_uuid7()
    sealed = Vault({1: OLD}, 1).seal(row, b"secret")
    with pytest.raises(SecretUnreadableError):
        Vault({1: OLD, 2: OLD}, 2).open(row, dataclasses.replace(sealed, key_version=2))


def test_rotation_keeps_the_secret_and_needs_the_old_key_only_once() -> None:
    row = new_uuid7()
    sealed = Vault({1: OLD}, 1).seal(row, b"secret")
    both = Vault({1: OLD, 2: NEW}, 2)
    assert both.open(row, sealed) == b"secret"
    rotated = both.rewrap(row, sealed)
    assert rotated.key_version == 2 and rotated.ciphertext == sealed.ciphertext
    assert Vault({2: NEW}, 2).open(row, rotated) == b"secret"
    with pytest.raises(SecretUnreadableError, match="needs key version 1"):
        Vault({2: NEW}, 2).open(row, sealed)


def test_the_key_never_shows_in_settings_or_errors() -> None:
    import base64

    text = base64.b64encode(OLD).decode()
    displayed = repr(Settings(secret_key=text)) + str(Settings(secret_key=text).model_dump())
    assert text not in displayed
    for bad in (text[:-4], "not base64 §", ""):
        with pytest.raises(ValueError) as error:
            decode_key(bad)
        assert not bad or bad not in str(error.value)


def test_key_file_is_read_and_missing_key_is_reported(tmp_path) -> None:
    import base64

    file = tmp_path / "key"
    file.write_text(base64.b64encode(OLD).decode() + "\n")
    assert Settings(secret_key_file=file).key_ring() == {1: OLD}
    with pytest.raises(ValueError, match="CULPRIT_SECRET_KEY"):
        Settings(secret_key=None, secret_key_file=None).key_ring()
