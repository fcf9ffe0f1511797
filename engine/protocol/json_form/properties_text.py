r"""Settings as Java properties text: ``name=value`` lines (RocketMQ: ``MixAll.string2Properties``).

Read as ``java.util.Properties`` does, as far as tools write it: ``#`` and ``!`` begin a comment line; name and value
are separated by ``=``, ``:`` or blanks; a backslash makes the next character stand for itself (``\n``, ``\r``, ``\t``
for what they usually mean, ``\uXXXX`` for a code unit). Simplified: a line is not continued on the next one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from engine.protocol.errors import MalformedBody
from engine.protocol.java_text import java_text

#: More text than any list of settings has.
_MAX_BYTES: Final = 1 << 16
_ENTRY: Final = re.compile(r"((?:\\.|[^\\=:\s])*)\s*[=:]?\s*(.*)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROL: Final = {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}


def parse_properties(body: bytes) -> dict[str, str]:
    """Names and values in the order of the text; of a name that comes twice the last value.

    Raises :class:`MalformedBody`.
    """
    if len(body) > _MAX_BYTES:
        raise MalformedBody(f"{len(body)} bytes of settings; allowed: {_MAX_BYTES}")
    settings: dict[str, str] = {}
    for line in re.split(r"[\r\n]+", java_text(body)):
        entry = line.strip()
        if not entry or entry[0] in "#!":
            continue
        match = _ENTRY.fullmatch(entry)
        if match is None or not match[1]:
            raise MalformedBody(f"{entry[:80]!r} is no setting; write name=value")
        settings[_unescape(match[1])] = _unescape(match[2])
    return settings


def format_properties(settings: Mapping[str, str]) -> bytes:
    """The settings as ``name=value`` lines, by name."""
    return "".join(f"{name}={value}\n" for name, value in sorted(settings.items())).encode()


def _unescape(text: str) -> str:
    def meant(escape: re.Match[str]) -> str:
        code = escape[1]
        if len(code) == 5:
            return chr(int(code[1:], 16))
        return _CONTROL.get(code, code)

    return _ESCAPE.sub(meant, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
