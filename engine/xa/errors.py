"""Errors in a two-phase commit other than votes."""

from __future__ import annotations

from engine.protocol.errors import ProtocolError


class XaError(ProtocolError):
    """The base of these errors. The channel answers a request that raises one with its text."""


class IllegalTransition(XaError):
    """A request that the state does not allow: a branch that never voted yes cannot be committed."""


class XaRefused(XaError):
    """The request was too late, or refers to something unknown; it had no effect."""


class LogFull(XaError):
    """The coordinator's log has no room: too many global transactions are unfinished, or the disk is full."""
