"""Sets of offsets and numbers, as Spark makes them and as the driver keeps them."""

from __future__ import annotations

from engine.protocol.number_set import CHUNK, NumberSet

_WORD = 64
_MASK = (1 << _WORD) - 1


def word_of(number: str) -> str:
    """Return the SQL expression for the word that holds a number: 64 numbers share one."""
    return f"shiftright({number}, 6)"


def bits_of(number: str, condition: str = "true") -> str:
    """Return the SQL aggregate of the bits, in one word, of the numbers that fulfil a condition."""
    return f"bit_or(shiftleft(1L, int({number} & 63))) FILTER (WHERE {condition})"


def add_word(numbers: NumberSet, word: int, bits: int | None) -> None:
    """Add the numbers of one word, as :func:`bits_of` returned them."""
    if bits:
        chunk, place = divmod(word, CHUNK // _WORD)
        numbers.add_bits(chunk, (bits & _MASK) << (place * _WORD))
