"""Errors in the access rules, and refusals of requests."""

from __future__ import annotations

from engine.protocol.errors import ProtocolError


class BadAccessConfig(ProtocolError):
    """The access rules are invalid; the text names the entry and what is allowed. It never shows a secret key."""


class AccessConfigNotSaved(ProtocolError):
    """The file of the rules could not be written, so nothing was changed."""


class AccessDenied(ProtocolError):
    """This request is refused (RocketMQ: ``AclException``, thrown while a request is checked)."""


class WrongSignature(AccessDenied):
    """The signer of the request does not know the account's secret key."""
