"""The signature of a request (RocketMQ: ``AclSigner``, ``AclUtils.combineRequestContent``).

The signed bytes are the values of all header fields in the order of their names, without separators, then the body:

    Signature = Base64( HMAC-SHA1( secret key, value₁ value₂ … valueₙ body ) )

The names themselves, the request code and ``opaque`` are not covered. So a request that somebody recorded can be sent
again (there is no nonce and no time in it), and with another code it carries the same signature: that is how the scheme
is. TLS closes both gaps.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping

ACCESS_KEY = "AccessKey"
SIGNATURE = "Signature"
SECURITY_TOKEN = "SecurityToken"
#: Says what a query is about. RocketMQ 4.9.8's client signs it, its broker leaves it out and so refuses mqadmin's
#: queries by key; older clients added it after they had signed.
_SOMETIMES_SIGNED = "_UNIQUE_KEY_QUERY"


def sign(fields: Mapping[str, str], body: bytes, secret_key: bytes) -> str:
    """The signature over ``fields`` and ``body`` that every broker takes."""
    return _signature(fields, (SIGNATURE, _SOMETIMES_SIGNED), body, secret_key)


def is_signed(fields: Mapping[str, str], body: bytes, secret_key: bytes) -> bool:
    """Whether ``fields`` has a signature that an owner of ``secret_key`` made, be it an old or a new client."""
    given = fields.get(SIGNATURE, "")
    if _matches(given, sign(fields, body, secret_key)):
        return True
    return _SOMETIMES_SIGNED in fields and _matches(given, _signature(fields, (SIGNATURE,), body, secret_key))


def _signature(fields: Mapping[str, str], left_out: tuple[str, ...], body: bytes, secret_key: bytes) -> str:
    values = "".join(fields[name] for name in sorted(fields) if name not in left_out)
    # A client can send half of a surrogate pair; it gets a signature that matches nothing, not an exception.
    content = values.encode("utf-8", "replace") + body
    return base64.b64encode(hmac.digest(secret_key, content, hashlib.sha1)).decode("ascii")


def _matches(given: str, expected: str) -> bool:
    """Compare in a time that does not tell how far the two agree (RocketMQ: ``String.equals``, which does)."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode("utf-8"))
