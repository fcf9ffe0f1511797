"""What a producer's ledger says about missing numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.protocol.message.missing_numbers import MissingNumbers
from engine.protocol.message.numbering_ledger import NumberingLedger
from engine.protocol.number_ranges import count_of
from engine.protocol.number_set import NumberSet

_NUMBERS = st.sets(st.integers(0, 60))


def _numbers_of(ranges):
    return {number for first, last in ranges for number in range(first, last + 1)}


@given(_NUMBERS, _NUMBERS, _NUMBERS, st.booleans())
def test_each_missing_number_is_lost_unknown_or_refused(missing, refused, unknown, is_complete):
    unknown = unknown - refused
    ledger = NumberingLedger(
        "p",
        "T",
        61,
        refused=tuple(NumberSet(refused).ranges()),
        unknown=tuple(NumberSet(unknown).ranges()),
        is_complete=is_complete,
    )
    reported = MissingNumbers(NumberSet(missing).ranges, ledger)
    open_ = missing - refused
    assert reported.refused == len(missing & refused)
    assert _numbers_of(reported.lost()) == (open_ - unknown if is_complete else set())
    assert _numbers_of(reported.unknown()) == (open_ & unknown if is_complete else open_)


@given(_NUMBERS)
def test_without_a_ledger_every_missing_number_is_lost(missing):
    reported = MissingNumbers(NumberSet(missing).ranges, None)
    assert (count_of(reported.lost()), count_of(reported.unknown()), reported.refused) == (len(missing), 0, 0)
