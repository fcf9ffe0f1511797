"""Java's ``String.trim``, by which RocketMQ's clients cut tags and judge what is blank.

Python's ``str.strip`` without an argument takes away more: full-width blanks (U+3000), for example, which are part of a
tag, a key or a property as any other character is.
"""

from __future__ import annotations

from typing import Final

_CUT: Final = "".join(map(chr, range(ord(" ") + 1)))


def java_trim(text: str) -> str:
    """Return ``text`` without the characters up to U+0020 at its ends.

    >>> java_trim(" \\tnew\\u3000\\n")
    'new\\u3000'
    """
    return text.strip(_CUT)
