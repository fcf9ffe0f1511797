"""What calls the listener (RocketMQ: ``ConsumeMessageService``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from engine.client.process_queue import ProcessQueue
from engine.protocol.message import MessageExt
from engine.protocol.message_queue import MessageQueue


class CMResult(StrEnum):
    """How a single direct consumption ended, as RocketMQ's tools spell it."""

    CR_SUCCESS = "CR_SUCCESS"
    CR_LATER = "CR_LATER"
    CR_ROLLBACK = "CR_ROLLBACK"
    CR_COMMIT = "CR_COMMIT"
    CR_THROW_EXCEPTION = "CR_THROW_EXCEPTION"
    CR_RETURN_NULL = "CR_RETURN_NULL"


@dataclass(frozen=True, slots=True)
class ConsumeMessageDirectlyResult:
    """The reply of code 309."""

    consume_result: CMResult
    remark: str | None
    spent_time_ms: int
    order: bool = False
    auto_commit: bool = True


class ConsumeMessageService(Protocol):
    """Takes pulled messages and has them consumed."""

    @property
    def is_orderly(self) -> bool:
        """Whether messages of a queue are consumed one after the other."""
        ...

    def start(self) -> None:
        """Begin to consume."""
        ...

    async def shutdown(self, await_termination_ms: int) -> None:
        """Begin nothing new, and wait at most that long for running listeners."""
        ...

    async def submit_consume_request(
        self,
        messages: Sequence[MessageExt],
        process_queue: ProcessQueue,
        message_queue: MessageQueue,
        dispatch_to_consume: bool,
    ) -> None:
        """Messages have been put into ``process_queue``; ``dispatch_to_consume`` is what that returned."""
        ...

    async def consume_message_directly(
        self, message: MessageExt, broker_name: str | None
    ) -> ConsumeMessageDirectlyResult:
        """Call the listener with one message, outside of everything else: a tool asked for it."""
        ...
