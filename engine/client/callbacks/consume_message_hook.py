"""Hooks of users that run before and after every listener call (RocketMQ: ``ConsumeMessageHook``).

Tracing and metrics are built on them. A failure of a hook is logged and has no other effect.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.message.message import MessageExt

_log = logging.getLogger("glassmq.client")

#: The key in ``props`` of the :class:`ConsumeReturnType` (``MixAll.CONSUME_CONTEXT_TYPE``).
CONSUME_CONTEXT_TYPE = "ConsumeContextType"


class ConsumeReturnType(StrEnum):
    """The endings of a listener call."""

    SUCCESS = "SUCCESS"
    #: It took longer than ``consume_timeout_ms``, whatever it returned.
    TIME_OUT = "TIME_OUT"
    EXCEPTION = "EXCEPTION"
    #: It returned a value that is not a status.
    RETURNNULL = "RETURNNULL"
    #: It requested redelivery.
    FAILED = "FAILED"


#: Endings that become TIME_OUT if the call took too long.
_RETURNED_A_STATUS = (ConsumeReturnType.SUCCESS, ConsumeReturnType.FAILED)


@dataclass(slots=True)
class ConsumeMessageContext:
    """One listener call. Both methods of a hook receive the same object.

    :ivar success: known afterwards.
    :ivar status: what the listener returned, by name; known afterwards.
    :ivar props: the hooks' own; afterwards also CONSUME_CONTEXT_TYPE.
    :ivar trace_context: the trace hook's own.
    """

    consumer_group: str
    message_queue: MessageQueue
    messages: Sequence[MessageExt]
    success: bool = False
    status: str = ""
    props: dict[str, str] = field(default_factory=dict)
    trace_context: object = None


class ConsumeMessageHook(Protocol):
    """A hook. Its methods are plain functions, called in the consumer's own task: they must not block."""

    @property
    def hook_name(self) -> str:
        """Return a name for the log."""
        ...

    def consume_message_before(self, context: ConsumeMessageContext) -> None:
        """Called before the listener."""
        ...

    def consume_message_after(self, context: ConsumeMessageContext) -> None:
        """Called after the listener. Not called if the queue was lost before the listener could begin."""
        ...


#: ``listener(queue, message)``: a broadcast message was dropped. A plain function that must not block.
DropListener = Callable[[MessageQueue, MessageExt], None]


class ConsumeMessageHooks:
    """The hooks and drop listeners of one consumer, in the order of their registration."""

    def __init__(self) -> None:
        self._hooks: list[ConsumeMessageHook] = []
        self._drop_listeners: list[DropListener] = []

    def add(self, hook: ConsumeMessageHook) -> None:
        """Call ``hook`` from now on."""
        self._hooks.append(hook)

    def add_drop_listener(self, listener: DropListener) -> None:
        """Notify ``listener`` of every dropped broadcast message. RocketMQ only logs it."""
        self._drop_listeners.append(listener)

    def dropped(self, queue: MessageQueue, message: MessageExt) -> None:
        """Notify the listeners of a dropped message."""
        for listener in self._drop_listeners:
            try:
                listener(queue, message)
            except Exception:
                _log.exception("a drop listener failed with message %s", message.message_id)

    def before(
        self, group: str, message_queue: MessageQueue, messages: Sequence[MessageExt]
    ) -> ConsumeMessageContext | None:
        """Call all hooks (``executeHookBefore``). The result is for ``after``; None without hooks."""
        if not self._hooks:
            return None
        context = ConsumeMessageContext(group, message_queue, tuple(messages))
        for hook in self._hooks:
            try:
                hook.consume_message_before(context)
            except Exception:
                _log.exception("hook %s failed before a listener call", hook.hook_name)
        return context

    def after(
        self,
        context: ConsumeMessageContext | None,
        *,
        status: str,
        success: bool,
        return_type: ConsumeReturnType,
        is_too_late: bool,
    ) -> None:
        """Record how the call ended and call all hooks (``executeHookAfter``).

        ``is_too_late``: the call took ``consume_timeout_ms`` or longer; its result then counts as TIME_OUT.
        """
        if context is None:
            return
        if is_too_late and return_type in _RETURNED_A_STATUS:
            return_type = ConsumeReturnType.TIME_OUT
        context.status, context.success = status, success
        context.props[CONSUME_CONTEXT_TYPE] = return_type.value
        for hook in self._hooks:
            try:
                hook.consume_message_after(context)
            except Exception:
                _log.exception("hook %s failed after a listener call", hook.hook_name)
