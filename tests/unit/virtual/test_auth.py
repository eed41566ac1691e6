"""The AUTH step: a key made by the true adb, signatures made here."""

from __future__ import annotations

import subprocess

import pytest

from android_runner.virtual.auth import BadKey, PublicKey, new_token, read_public_key, signature_fits
from tests.virtual_lab import adb_path


@pytest.fixture(scope="module")
def key_text(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("key") / "adbkey"
    subprocess.run([adb_path(), "keygen", path], check=True, capture_output=True, timeout=30)
    return path.with_suffix(".pub").read_text()


def _padded(token: bytes) -> int:
    tail = b"\x00" + bytes.fromhex("3021300906052b0e03021a05000414") + token
    return int.from_bytes(b"\x00\x01" + b"\xff" * (254 - len(tail)) + tail, "big")


def test_adbs_own_key_is_read(key_text: str) -> None:
    key = read_public_key(key_text)
    assert key.exponent == 65537
    assert key.modulus.bit_length() == 2048


def test_signature_of_the_right_token_only() -> None:
    # With exponent 1 the padded token is its own signature: the check of the padding alone.
    key = PublicKey(modulus=2**2047 + 1, exponent=1)
    token = new_token()
    signature = _padded(token).to_bytes(256, "big")
    assert signature_fits(key, token, signature)
    assert not signature_fits(key, new_token(), signature)
    assert not signature_fits(key, token, signature[:-1])
    assert not signature_fits(key, token, b"\xff" * 256)
    flipped = bytearray(signature)
    flipped[10] ^= 1
    assert not signature_fits(key, token, bytes(flipped))


@pytest.mark.parametrize("cut", [0, 1, 100, 523])
def test_a_broken_key_is_refused(key_text: str, cut: int) -> None:
    import base64

    raw = base64.b64decode(key_text.split(maxsplit=1)[0])
    with pytest.raises(BadKey):
        read_public_key(base64.b64encode(raw[:cut]).decode())
    changed = bytearray(raw)
    changed[cut] ^= 0x41
    with pytest.raises(BadKey):
        read_public_key(base64.b64encode(changed).decode())


@pytest.mark.parametrize("text", ["", "not base64 at all!", "\x00"])
def test_text_that_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(BadKey):
        read_public_key(text)


def test_tokens_differ() -> None:
    assert len({new_token() for _ in range(100)}) == 100
