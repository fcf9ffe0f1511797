"""Java's ``String.trim``, with which RocketMQ's clients trim tags and detect blank strings.

Python's ``str.strip`` without an argument removes more, such as full-width blanks (U+3000), which are ordinary
characters of a tag, a key or a property.
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
