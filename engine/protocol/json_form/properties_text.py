r"""Settings as Java properties text: ``name=value`` lines (RocketMQ: ``MixAll.string2Properties``).

Read as ``java.util.Properties`` does: ``#`` and ``!`` begin a comment line; name and value are separated by ``=``,
``:`` or blanks; a backslash makes the next character stand for itself (``\n``, ``\r``, ``\t`` for what they usually
mean, ``\uXXXX`` for a code unit), and at the end of a line continues it on the next one. Differs: the text is UTF-8,
and blanks at the end of a value do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from engine.protocol.errors import MalformedBody
from engine.protocol.java_text import java_text

#: The maximum size of a settings text; no list of settings comes near it.
PROPERTIES_MAX_BYTES: Final = 1 << 16
_ENTRY: Final = re.compile(r"((?:\\.|[^\\=:\s])*)\s*[=:]?\s*(.*)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROL: Final = {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}


def parse_properties(body: bytes) -> dict[str, str]:
    """Return names and values in the order of the text; the last value of a repeated name wins.

    Raises :class:`MalformedBody`.
    """
    settings: dict[str, str] = {}
    for line, name, value in numbered_properties(body):
        if not name:
            raise MalformedBody(f"line {line}: {value[:80]!r} is not a setting; write name=value")
        settings[name] = value
    return settings


def numbered_properties(body: bytes) -> Iterator[tuple[int, str, str]]:
    """Yield each entry with the number of its first line, in the order of the text.

    An entry without a name has the name "" and its whole text as value. Raises :class:`MalformedBody` for too much
    text.
    """
    if len(body) > PROPERTIES_MAX_BYTES:
        raise MalformedBody(f"more than {PROPERTIES_MAX_BYTES} bytes of settings")
    for first, text in _logical_lines(java_text(body)):
        entry = text.strip()
        match = _ENTRY.fullmatch(entry)
        if match is None or not match[1]:
            yield first, "", entry
        else:
            yield first, _unescape(match[1]), _unescape(match[2])


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are neither blank nor comments, each joined with its continuation lines."""
    first, entry = 0, ""
    for number, line in enumerate(re.split(r"\r\n|[\r\n]", text), start=1):
        part = line.lstrip()
        if not entry and (not part or part[0] in "#!"):
            continue
        first = first if entry else number
        if (len(part) - len(part.rstrip("\\"))) % 2:
            entry += part[:-1]
            continue
        yield first, entry + part
        entry = ""
    if entry:
        yield first, entry


def format_properties(settings: Mapping[str, str]) -> bytes:
    """Return the settings as ``name=value`` lines, sorted by name."""
    return "".join(f"{name}={value}\n" for name, value in sorted(settings.items())).encode()


def _unescape(text: str) -> str:
    def meant(escape: re.Match[str]) -> str:
        code = escape[1]
        if len(code) == 5:
            return chr(int(code[1:], 16))
        return _CONTROL.get(code, code)

    return _ESCAPE.sub(meant, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
