"""What can go wrong in a two-phase commit, beside votes."""

from __future__ import annotations

from engine.protocol.errors import ProtocolError


class XaError(ProtocolError):
    """Base. The channel answers a request that raises one with its text."""


class IllegalTransition(XaError):
    """Somebody asks for what the state does not allow: a branch that never voted yes cannot be committed."""


class XaRefused(XaError):
    """The request came too late, or is about something that nobody knows; it had no effect."""


class LogFull(XaError):
    """The coordinator's log has no room: too many global transactions are unfinished, or the disk is full."""
