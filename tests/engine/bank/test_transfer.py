"""What a message says about a transfer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.bank.errors import NotATransfer
from engine.bank.transfer import AMOUNT_MAX, Transfer
from engine.protocol.message.message import Message

#: Whatever is printable, without the space.
NAMES = st.text(st.characters(categories=("L", "M", "N", "P", "S")), min_size=1, max_size=20)


@given(NAMES, NAMES, NAMES, st.integers(1, AMOUNT_MAX))
def test_a_transfer_survives_the_way_through_a_message(key, source, target, amount):
    transfer = Transfer(key, source, target, amount)
    assert Transfer.of(transfer.message("Transfers")) == transfer


def test_the_body_can_be_read_by_people():
    assert Transfer("t-1", "A", "B", 10_000).body == b'{"from": "A", "to": "B", "amount": 10000}'


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfe",
        b"10000",
        b'["A", "B", 1]',
        b'{"from": "A", "to": "B"}',
        b'{"from": "A", "to": "B", "amount": 1, "fee": 2}',
        b'{"from": "", "to": "B", "amount": 1}',
        b'{"from": "A", "to": 7, "amount": 1}',
        b'{"from": "A", "to": "\\ud800", "amount": 1}',
        b"[" * 100_000,
        b'{"from": "A", "to": "B", "amount": 0}',
        b'{"from": "A", "to": "B", "amount": -5}',
        b'{"from": "A", "to": "B", "amount": true}',
        b'{"from": "A", "to": "B", "amount": 1.5}',
        b'{"from": "A", "to": "B", "amount": 1000000000001}',
    ],
)
def test_a_body_that_says_no_transfer_is_refused(body):
    with pytest.raises(NotATransfer):
        Transfer.of(Message("Transfers", body, keys="t-1"))


def test_a_transfer_needs_a_number():
    with pytest.raises(NotATransfer, match="key"):
        Transfer.of(Message("Transfers", Transfer("t", "A", "B", 1).body))
