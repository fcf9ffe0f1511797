"""The reader of the one-letter form of a send header (RocketMQ: ``SendMessageRequestHeaderV2``).

It runs once per sent message: the common case is read directly, and only a header that fails is read again field by
field, for an error that names the field.
"""

from __future__ import annotations

from engine.protocol.command.send_message_headers import LONG_NAMES, SendMessageRequestHeader


def decode_send_header_v2(ext_fields: dict[str, str]) -> SendMessageRequestHeader:
    """Decode the header in ``ext_fields``. Raises :class:`~engine.protocol.errors.MalformedHeader`."""
    try:
        header = SendMessageRequestHeader(
            ext_fields["a"],
            ext_fields["b"],
            ext_fields["c"],
            _natural(ext_fields["d"], 31),
            _natural(ext_fields["e"], 31, least=-1),
            _natural(ext_fields["f"], 31),
            _natural(ext_fields["g"], 63),
            _natural(ext_fields["h"], 31),
            ext_fields.get("i"),
            _natural(ext_fields.get("j") or "0", 31),
            ext_fields.get("k") in ("true", "1"),
            ext_fields.get("m") in ("true", "1"),
            None,
            ext_fields.get("n"),
        )
        if "l" not in ext_fields:
            return header
    except (KeyError, ValueError):
        pass  # the slow path finds out which field it was
    return SendMessageRequestHeader.decode({LONG_NAMES.get(name, name): value for name, value in ext_fields.items()})


def _natural(text: str, bits: int, least: int = 0) -> int:
    """Parse an integer from ``least`` up that fits a signed integer of ``bits`` bits. Raises ``ValueError``
    otherwise.
    """
    number = int(text)
    if least <= number < 1 << bits:
        return number
    raise ValueError(text)
