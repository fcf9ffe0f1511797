"""Code of the user that runs before and after every try to send (RocketMQ: ``SendMessageHook``), and when a transaction
is ended (``EndTransactionHook``).

Tracing and metrics are made of it. A hook that fails is logged and otherwise changes nothing.
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
    """One try. The same object goes to both methods of a hook.

    :ivar body_size: in bytes, as sent: perhaps compressed.
    :ivar properties: of the message; of a batch those that all have in common.
    :ivar result: known afterwards; None when it failed, and of a oneway send.
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
    """The broker is about to be told how a local transaction ended.

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
    """Plain methods, called in the producer's own task: they must not block."""

    @property
    def hook_name(self) -> str:
        """For the log."""
        ...

    def send_message_before(self, context: SendMessageContext) -> None:
        """A try is about to begin."""
        ...

    def send_message_after(self, context: SendMessageContext) -> None:
        """The try has ended."""
        ...


class EndTransactionHook(Protocol):
    """As :class:`SendMessageHook`."""

    @property
    def hook_name(self) -> str:
        """For the log."""
        ...

    def end_transaction(self, context: EndTransactionContext) -> None:
        """END_TRANSACTION is about to go out."""
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
        """Whether a context needs to be made for a send."""
        return bool(self._send_hooks)

    @property
    def are_any_for_transactions(self) -> bool:
        """Whether a context needs to be made for the end of a transaction."""
        return bool(self._end_hooks)

    def before(self, context: SendMessageContext) -> None:
        """Call all of them."""
        for hook in self._send_hooks:
            try:
                hook.send_message_before(context)
            except Exception:
                _log.exception("hook %s failed before a send", hook.hook_name)

    def after(self, context: SendMessageContext) -> None:
        """Call all of them."""
        for hook in self._send_hooks:
            try:
                hook.send_message_after(context)
            except Exception:
                _log.exception("hook %s failed after a send", hook.hook_name)

    def end_transaction(self, context: EndTransactionContext) -> None:
        """Call all of them."""
        for hook in self._end_hooks:
            try:
                hook.end_transaction(context)
            except Exception:
                _log.exception("hook %s failed at the end of a transaction", hook.hook_name)
