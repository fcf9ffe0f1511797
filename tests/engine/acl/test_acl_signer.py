"""Signatures, against those that real clients made."""

from __future__ import annotations

import base64
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.acl.acl_signer import SIGNATURE, is_signed, sign
from engine.client.callbacks.acl_client_rpc_hook import AclClientRPCHook, SessionCredentials, make_rpc_hook
from engine.client.foundation.errors import IllegalClientArgument
from engine.protocol.command.remoting_command import RemotingCommand
from tests.engine.broker.lab_broker import golden_frames

#: Made by RocketMQ's Java client 4.9.8 with AclClientRPCHook("orders-app", "orders-secret", "token-1").
JAVA_FIELDS = {
    "a": "producers",
    "b": "orders",
    "c": "TBW102",
    "d": "4",
    "e": "1",
    "f": "0",
    "g": "1767225600000",
    "h": "0",
    "i": "TAGS\x01new\x02KEYS\x01k-你好\x02",
    "j": "0",
    "k": "false",
    "m": "false",
}
JAVA_BODY = "hello, 你好".encode()
JAVA_SIGNATURE = "oUhkDQLR9yUs43exl+bdYSOfHEs="


def test_the_hook_signs_as_the_java_client_does() -> None:
    request = RemotingCommand.request(310, body=JAVA_BODY)
    request.ext_fields = dict(JAVA_FIELDS)
    AclClientRPCHook(SessionCredentials("orders-app", "orders-secret", "token-1"))(request)
    added = {name: value for name, value in request.ext_fields.items() if name not in JAVA_FIELDS}
    assert added == {"AccessKey": "orders-app", "SecurityToken": "token-1", "Signature": JAVA_SIGNATURE}


def test_frames_of_the_cpp_client_which_signs_with_an_empty_key_are_verified() -> None:
    signed = []
    for frame in golden_frames():
        fields = {name: str(value) for name, value in (frame["header"].get("extFields") or {}).items()}
        if SIGNATURE in fields and not (frame["bodylen"] and frame["body"] is None):
            body = (frame["body"] or "").encode()
            if len(body) == frame["bodylen"]:
                signed.append(is_signed(fields, body, b""))
    assert len(signed) >= 6
    assert all(signed)


@given(
    st.dictionaries(st.text("abcXYZ", min_size=1, max_size=8), st.text(max_size=20), max_size=6),
    st.binary(max_size=64),
    st.binary(min_size=7, max_size=32),
)
def test_a_signature_holds_for_its_key_only_and_not_for_another_body(
    fields: dict[str, str], body: bytes, secret_key: bytes
) -> None:
    signature = sign(fields, body, secret_key)
    signed = {SIGNATURE: signature, **dict(reversed(fields.items()))}
    assert is_signed(signed, body, secret_key)
    assert not is_signed(signed, body + b"!", secret_key)
    assert not is_signed(signed, body, secret_key + b"!")
    assert not is_signed(fields, body, secret_key)


def test_fields_that_rocketmq_adds_after_signing_do_not_count() -> None:
    assert sign({"a": "1", "_UNIQUE_KEY_QUERY": "true", SIGNATURE: "old"}, b"", b"k" * 8) == sign(
        {"a": "1"}, b"", b"k" * 8
    )


def test_one_key_without_the_other_is_refused() -> None:
    assert make_rpc_hook(None, None, None) is None
    with pytest.raises(IllegalClientArgument, match="go together"):
        make_rpc_hook("orders-app", None, None)


def test_a_secret_key_is_in_no_text() -> None:
    credentials = SessionCredentials("orders-app", "orders-secret", "token-1")
    assert "orders-secret" not in repr(credentials) and "token-1" not in repr(credentials)


def test_what_a_query_is_about_may_be_signed_or_not() -> None:
    """Java 4.9.8's client signs this field and its broker leaves it out: there mqadmin's queries by key are refused."""
    fields = {"topic": "T", "key": "k"}
    asks = {**fields, "_UNIQUE_KEY_QUERY": "true"}
    of_an_old_client = sign(fields, b"", b"secret-key")
    content = b"truekT"  # in the order of the names: _UNIQUE_KEY_QUERY, key, topic
    of_a_new_client = base64.b64encode(hmac.digest(b"secret-key", content, "sha1")).decode()
    assert is_signed({**asks, SIGNATURE: of_an_old_client}, b"", b"secret-key")
    assert is_signed({**asks, SIGNATURE: of_a_new_client}, b"", b"secret-key")
    assert not is_signed({**asks, "_UNIQUE_KEY_QUERY": "x", SIGNATURE: of_a_new_client}, b"", b"secret-key")
