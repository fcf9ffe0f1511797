"""The signature of a request (RocketMQ: ``AclSigner``, ``AclUtils.combineRequestContent``).

The signed bytes are the values of all header fields in the order of their names, without separators, then the body:

    Signature = Base64( HMAC-SHA1( secret key, value₁ value₂ … valueₙ body ) )

The names themselves, the request code and ``opaque`` are not covered. So a recorded request can be replayed (it has no
nonce and no timestamp), and with another code it has the same signature. These are weaknesses of the scheme. TLS closes
both gaps.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping

ACCESS_KEY = "AccessKey"
SIGNATURE = "Signature"
SECURITY_TOKEN = "SecurityToken"
#: The field with the type of a query. RocketMQ 4.9.8's client signs it, its broker leaves it out and so refuses
#: mqadmin's queries by key; older clients added it after they had signed.
_SOMETIMES_SIGNED = "_UNIQUE_KEY_QUERY"


def sign(fields: Mapping[str, str], body: bytes, secret_key: bytes) -> str:
    """Return the signature over ``fields`` and ``body`` that every broker accepts."""
    return _signature(fields, (SIGNATURE, _SOMETIMES_SIGNED), body, secret_key)


def is_signed(fields: Mapping[str, str], body: bytes, secret_key: bytes) -> bool:
    """Return whether ``fields`` has a valid signature with ``secret_key``, from an old or a new client."""
    given = fields.get(SIGNATURE, "")
    if _matches(given, sign(fields, body, secret_key)):
        return True
    return _SOMETIMES_SIGNED in fields and _matches(given, _signature(fields, (SIGNATURE,), body, secret_key))


def _signature(fields: Mapping[str, str], left_out: tuple[str, ...], body: bytes, secret_key: bytes) -> str:
    values = "".join(fields[name] for name in sorted(fields) if name not in left_out)
    # A client can send half of a surrogate pair; the result is a signature that matches nothing, not an exception.
    content = values.encode("utf-8", "replace") + body
    return base64.b64encode(hmac.digest(secret_key, content, hashlib.sha1)).decode("ascii")


def _matches(given: str, expected: str) -> bool:
    """Compare in constant time, independent of the length of the common prefix (unlike RocketMQ's
    ``String.equals``).
    """
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode("utf-8"))
