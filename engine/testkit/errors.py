"""The refusals of the test kit."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping


class TestKitError(Exception):
    """A call of the test kit that cannot be carried out. The message says why, and what is allowed.

    :ivar text: the message by language; None if it comes from elsewhere, or only a Python test can see it.
    """

    __test__ = False  # pytest: it is no class of tests

    def __init__(self, text: Mapping[str, str] | str) -> None:
        self.text = None if isinstance(text, str) else text
        super().__init__(text if isinstance(text, str) else text["en"])


def check_may_block(call: str) -> None:
    """Raise :class:`TestKitError` in a thread that runs an event loop: the clients in it could do nothing meanwhile.

    :param call: what the test calls, as it writes it: ``glassmq.wait_for``.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise TestKitError(
        f"{call} waits, and this thread runs an event loop, whose clients would stand still meanwhile: "
        f"write await asyncio.to_thread({call}, ...)"
    )
