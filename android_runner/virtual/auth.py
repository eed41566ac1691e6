"""Pure: adb's RSA handshake, seen from the phone that checks it.

The host signs 20 random bytes with PKCS#1 v1.5, the token taking the place of a SHA-1 digest (it is not hashed).
A public key in `adbkey.pub` is base64 of 524 bytes (little-endian: u32 words = 64, u32 n0inv, 256 bytes modulus,
256 bytes R² mod n, u32 exponent), a space and `user@host`. Source: AOSP `crypto_utils/android_pubkey.c`,
`adb/client/auth.cpp`; each step was tried against adb 36.0.0.
"""

from __future__ import annotations

import base64
import hmac
import secrets
import struct
from dataclasses import dataclass

TOKEN_BYTES = 20
MODULUS_BYTES = 256
_ENCODED_BYTES = 4 + 4 + MODULUS_BYTES + MODULUS_BYTES + 4
_SHA1_DIGEST_INFO = bytes.fromhex("3021300906052b0e03021a05000414")


class BadKey(ValueError):
    """The text is no adb public key."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """One RSA-2048 key that may come in."""

    modulus: int
    exponent: int


def new_token() -> bytes:
    """A challenge; never use one twice."""
    return secrets.token_bytes(TOKEN_BYTES)


def read_public_key(text: str) -> PublicKey:
    """Parse the text of an `adbkey.pub`; raise `BadKey`."""
    words = text.split()
    try:
        raw = base64.b64decode(words[0], validate=True)
    except (IndexError, ValueError) as error:
        raise BadKey("not base64") from error
    if len(raw) != _ENCODED_BYTES:
        raise BadKey(f"{len(raw)} bytes instead of {_ENCODED_BYTES}")
    size_words, n0inv = struct.unpack_from("<II", raw)
    modulus = int.from_bytes(raw[8 : 8 + MODULUS_BYTES], "little")
    rr = int.from_bytes(raw[8 + MODULUS_BYTES : 8 + 2 * MODULUS_BYTES], "little")
    (exponent,) = struct.unpack_from("<I", raw, 8 + 2 * MODULUS_BYTES)
    sound = (
        size_words == MODULUS_BYTES // 4
        and modulus % 2 == 1
        and modulus.bit_length() == MODULUS_BYTES * 8
        and (n0inv * modulus + 1) % 2**32 == 0
        and rr == pow(2, 2 * MODULUS_BYTES * 8, modulus)
        and exponent in (3, 65537)
    )
    if not sound:
        raise BadKey("the key's numbers do not fit each other")
    return PublicKey(modulus, exponent)


def signature_fits(key: PublicKey, token: bytes, signature: bytes) -> bool:
    """Whether `signature` (256 bytes, big-endian) is this key's over `token`."""
    if len(signature) != MODULUS_BYTES:
        return False
    number = int.from_bytes(signature, "big")
    if number >= key.modulus:
        return False
    tail = b"\x00" + _SHA1_DIGEST_INFO + token
    wanted = b"\x00\x01" + b"\xff" * (MODULUS_BYTES - 2 - len(tail)) + tail
    found = pow(number, key.exponent, key.modulus).to_bytes(MODULUS_BYTES, "big")
    return hmac.compare_digest(found, wanted)
