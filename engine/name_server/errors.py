"""Errors in registrations and settings at a name server."""

from __future__ import annotations

from engine.protocol.errors import ProtocolError


class RegistrationRefused(ProtocolError):
    """A broker's registration was refused; the text says why."""


class KVConfigRefused(ProtocolError):
    """A text cannot be stored; the error says why."""


class NameServerConfigRefused(ProtocolError):
    """A setting cannot be changed; the text names it and what is allowed."""
