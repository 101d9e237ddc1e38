"""Fencing tokens, `EPOCH.SECRET`: derived, compared, never stored (G4, G9).

SECRET is an HMAC of the claim under its own receipt key, so that replaying the claim gives the same token back without
any token being at rest. Whoever has the receipt key has the token: both are equally secret.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
import time

_FORM = re.compile(r"([1-9][0-9]{0,17})\.([A-Za-z0-9_-]{43})")


def derive(receipt_key: str, store_id: str, job: int, epoch: int) -> str:
    """The token of the claim of `job` that was given `epoch`, made under `receipt_key` in store `store_id`."""
    message = f"draftfs claim\0{store_id}\0{job}\0{epoch}".encode()
    secret = hmac.new(_bytes(receipt_key), message, hashlib.sha256).digest()
    return f"{epoch}.{base64.urlsafe_b64encode(secret).rstrip(b'=').decode()}"


def digest(secret: str) -> str:
    """SHA-256 of a token or a receipt key, in hex: what the store keeps in its place."""
    return hashlib.sha256(_bytes(secret)).hexdigest()


def _bytes(text: str) -> bytes:
    try:
        return os.fsencode(text)
    except UnicodeEncodeError:  # it came by no command line; whatever it is, it is some key, or some wrong token
        return text.encode("utf-8", "surrogatepass")


def epoch_of(token: str) -> int | None:
    """The epoch a token names, or None when the text is no token at all."""
    found = _FORM.fullmatch(token)
    return int(found[1]) if found else None


def same(token: str, kept_digest: str) -> bool:
    """Whether `token` is the one with this digest, in constant time."""
    return hmac.compare_digest(digest(token), kept_digest)


def new_receipt_key() -> str:
    """A fresh UUIDv7 (RFC 9562): 48 bits of milliseconds, then 74 unguessable bits."""
    value = (time.time_ns() // 1_000_000 & (1 << 48) - 1) << 80 | int.from_bytes(os.urandom(10))
    value = value & ~(0xF << 76) | 7 << 76
    value = value & ~(0x3 << 62) | 2 << 62
    text = f"{value:032x}"  # the uuid module costs two milliseconds of every command's start
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
