"""Hooks of users that run before and after every send attempt (RocketMQ: ``SendMessageHook``), and when a transaction
ends (``EndTransactionHook``).

Tracing and metrics are built on them. A failure of a hook is logged and has no other effect.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from engine.client.callbacks.send_result import SendResult
from engine.client.callbacks.transaction_listener import LocalTransactionState
from engine.protocol.body.message_queue import MessageQueue

_log = logging.getLogger("glassmq.client")


@dataclass(slots=True)
class SendMessageContext:
    """One send attempt. Both methods of a hook receive the same object.

    :ivar body_size: in bytes, as sent: perhaps compressed.
    :ivar properties: the message's properties; for a batch, those that all messages share.
    :ivar result: known afterwards; None if it failed, and for a oneway send.
    :ivar failure: known afterwards.
    :ivar trace_context: the trace hook's own.
    """

    producer_group: str
    topic: str
    properties: Mapping[str, str]
    body_size: int
    message_queue: MessageQueue
    broker_address: str
    result: SendResult | None = None
    failure: Exception | None = None
    trace_context: object = None


@dataclass(frozen=True, slots=True)
class EndTransactionContext:
    """The report of a local transaction's outcome to the broker.

    :ivar message_id: the unique id of the half message.
    """

    producer_group: str
    topic: str
    properties: Mapping[str, str]
    broker_address: str
    message_id: str
    transaction_id: str | None
    state: LocalTransactionState
    from_transaction_check: bool


class SendMessageHook(Protocol):
    """A hook. Its methods are plain functions, called in the producer's own task: they must not block."""

    @property
    def hook_name(self) -> str:
        """Return a name for the log."""
        ...

    def send_message_before(self, context: SendMessageContext) -> None:
        """Called before each attempt to send a message."""
        ...

    def send_message_after(self, context: SendMessageContext) -> None:
        """Called after an attempt."""
        ...


class EndTransactionHook(Protocol):
    """A hook for the end of transactions, with the rules of :class:`SendMessageHook`."""

    @property
    def hook_name(self) -> str:
        """Return a name for the log."""
        ...

    def end_transaction(self, context: EndTransactionContext) -> None:
        """Called before END_TRANSACTION is sent."""
        ...


class SendHooks:
    """The hooks of one producer, in the order of their registration."""

    def __init__(self) -> None:
        self._send_hooks: list[SendMessageHook] = []
        self._end_hooks: list[EndTransactionHook] = []

    def add(self, hook: SendMessageHook) -> None:
        """Call ``hook`` from now on."""
        self._send_hooks.append(hook)

    def add_end_transaction(self, hook: EndTransactionHook) -> None:
        """Call ``hook`` from now on."""
        self._end_hooks.append(hook)

    @property
    def are_any(self) -> bool:
        """Return whether a context is needed for a send."""
        return bool(self._send_hooks)

    @property
    def are_any_for_transactions(self) -> bool:
        """Return whether a context is needed for the end of a transaction."""
        return bool(self._end_hooks)

    def before(self, context: SendMessageContext) -> None:
        """Call all hooks before an attempt."""
        for hook in self._send_hooks:
            try:
                hook.send_message_before(context)
            except Exception:
                _log.exception("hook %s failed before a send", hook.hook_name)

    def after(self, context: SendMessageContext) -> None:
        """Call all hooks after an attempt."""
        for hook in self._send_hooks:
            try:
                hook.send_message_after(context)
            except Exception:
                _log.exception("hook %s failed after a send", hook.hook_name)

    def end_transaction(self, context: EndTransactionContext) -> None:
        """Call all hooks at the end of a transaction."""
        for hook in self._end_hooks:
            try:
                hook.end_transaction(context)
            except Exception:
                _log.exception("hook %s failed at the end of a transaction", hook.hook_name)
