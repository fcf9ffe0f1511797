"""Edited frames: a held frame with fields that a person has changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from engine.faults.errors import FaultRefused
from engine.faults.frame_subject import FrameSubject
from engine.protocol.command.remoting_command import RemotingCommand, encode_command
from engine.protocol.errors import ProtocolError
from engine.protocol.message.message_properties import decode_properties, encode_properties, is_carriable
from engine.protocol.request_code import RequestCode

_PREFIX_BYTES = 4
#: Requests whose header contains a message's properties -> the field that contains them.
_PROPERTIES_FIELD = {
    RequestCode.SEND_MESSAGE: "properties",
    RequestCode.SEND_MESSAGE_V2: "i",
}


def properties_of(command: RemotingCommand) -> dict[str, str] | None:
    """Return the message's properties in a request that sends one; None for all others."""
    field = _properties_field(command)
    if field is None:
        return None
    try:
        return decode_properties(command.ext_fields.get(field, ""))
    except ProtocolError:
        return None


def _properties_field(command: RemotingCommand) -> str | None:
    if command.is_response:
        return None
    return next((field for code, field in _PROPERTIES_FIELD.items() if code == command.code), None)


def changed_frame(
    subject: FrameSubject,
    fields: Mapping[str, str],
    properties: Mapping[str, str],
    body: bytes | None,
) -> bytes:
    """Return the frame, without its length prefix, after the change.

    :param fields: header fields that get another value; they must exist.
    :param properties: properties of the message in it; an empty value removes one.
    :param body: the new body; None: unchanged.

    Raises :class:`FaultRefused`, which names what is not possible.
    """
    command = subject.command
    ext_fields = dict(command.ext_fields)
    for name, value in fields.items():
        if name not in ext_fields:
            raise FaultRefused("refusal.no_header_field", name=name, known=", ".join(ext_fields) or "-")
        ext_fields[name] = value
    if properties:
        ext_fields |= _with_properties(command, properties)
    changed = dataclasses.replace(command, ext_fields=ext_fields, body=command.body if body is None else body)
    return encode_command(changed)[_PREFIX_BYTES:]


def _with_properties(command: RemotingCommand, properties: Mapping[str, str]) -> dict[str, str]:
    field, there = _properties_field(command), properties_of(command)
    if field is None or there is None:
        raise FaultRefused("refusal.no_properties", frame=FrameSubject(command).name)
    for name, value in properties.items():
        if not is_carriable(name) or (value and not is_carriable(value)):
            raise FaultRefused("refusal.no_property", name=name)
        there[name] = value
    return {field: encode_properties({name: value for name, value in there.items() if value})}
