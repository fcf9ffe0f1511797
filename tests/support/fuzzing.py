"""Fuzz tests of decoders: damaged input, and what has to hold for each input that decodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hypothesis import given
from hypothesis import strategies as st

#: At least this share of the inputs has to decode, and at least this share to be refused.
SHARE_MIN = 0.05

T = TypeVar("T")


def damaged(inputs: st.SearchStrategy[bytes], bytes_changed: int = 4) -> st.SearchStrategy[bytes]:
    """Return ``inputs``, each at least a byte long, with up to ``bytes_changed`` bytes replaced; half are cut short."""

    @st.composite
    def one(draw: st.DrawFn) -> bytes:
        data = bytearray(draw(inputs))
        for _ in range(draw(st.integers(0, bytes_changed))):
            data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
        if draw(st.booleans()):
            del data[draw(st.integers(0, len(data))) :]
        return bytes(data)

    return one()


def check_decoder(
    inputs: st.SearchStrategy[bytes],
    decode: Callable[[bytes], T],
    encode: Callable[[T], bytes],
    refusal: type[Exception],
) -> None:
    """Check that ``decode`` raises ``refusal``, or returns a value that encodes and decodes to the same value.

    The check fails too when nearly all inputs are refused, or nearly none: it would show nothing then.
    """
    accepted: list[bool] = []

    @given(inputs)
    def check(data: bytes) -> None:
        try:
            value = decode(data)
        except refusal:
            accepted.append(False)
            return
        accepted.append(True)
        assert decode(encode(value)) == value

    check()
    share = sum(accepted) / len(accepted)
    assert SHARE_MIN <= share <= 1 - SHARE_MIN, f"{share:.0%} of {len(accepted)} inputs were accepted"
