"""The service that runs pull requests, one after the other (RocketMQ: ``PullMessageService``).

Each owned queue has one pull request, which circulates: taken from here, sent to the broker, and put back when the
reply has arrived. That bounds the waiting requests by the number of owned queues.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from engine.client.queues.pull_request import PullRequest
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.step import step

_log = logging.getLogger("glassmq.client")


class PullMessageService:
    """The queue of pull requests.

    :param pull_message: starts one pull; does not wait for the broker.
    """

    def __init__(self, pull_message: Callable[[PullRequest], Awaitable[None]]) -> None:
        self._pull_message = pull_message
        self._pull_requests: asyncio.Queue[PullRequest] = asyncio.Queue()

    def start(self, background: BackgroundTasks) -> None:
        """Start to run pull requests."""
        background.spawn(self._run(), "pull message service")

    def execute_pull_request_immediately(self, pull_request: PullRequest) -> None:
        """Pull as soon as possible."""
        self._pull_requests.put_nowait(pull_request)

    def execute_pull_request_later(self, pull_request: PullRequest, delay_ms: int) -> None:
        """Pull after ``delay_ms``."""
        asyncio.get_running_loop().call_later(delay_ms / 1000, self._pull_requests.put_nowait, pull_request)

    async def _run(self) -> None:
        while True:
            pull_request = await self._pull_requests.get()
            await step("takes a pull request")
            try:
                await self._pull_message(pull_request)
            except Exception:
                _log.exception(
                    "pulling %s failed; the next rebalance will acquire it again", pull_request.message_queue
                )
