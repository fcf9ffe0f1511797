"""Locks on accounts, with their queues of waiters.

They work like a database's row locks: first come, first served, with a timeout for waiters. The owner is a name (an
xid, or a customer's withdrawal), not a task: a branch in doubt keeps its lock across the end of the process, when it
has no task any more.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

#: The number of finished waits that are still shown.
WAITS_KEPT = 64


@dataclass(slots=True, eq=False)
class LockWait:
    """A wait of ``waiter`` for ``account``, which ``holder`` has locked. Times are monotonic microseconds.

    :ivar until_us: None: it still waits.
    :ivar is_in_vain: it did not get the lock.
    """

    account: str
    waiter: str
    holder: str
    since_us: int
    until_us: int | None = None
    is_in_vain: bool = False


@dataclass(slots=True, eq=False)
class _Queued:
    owner: str
    granted: asyncio.Future[bool]
    wait: LockWait


class AccountLocks:
    """The locks of one bank.

    :ivar holders: account -> owner of the lock, and since when.
    :ivar waits: current and finished waits, oldest first.
    """

    def __init__(self, now_us: Callable[[], int]) -> None:
        self._now_us = now_us
        self.holders: dict[str, tuple[str, int]] = {}
        self.waits: deque[LockWait] = deque(maxlen=WAITS_KEPT)
        self._queues: dict[str, deque[_Queued]] = {}

    def holder_of(self, account: str) -> str | None:
        """Return the owner of the lock."""
        held = self.holders.get(account)
        return held[0] if held is not None else None

    def take(self, account: str, owner: str) -> None:
        """Give ``owner`` a lock that is known to be free, for a branch in doubt, before other clients are served."""
        assert account not in self.holders, f"{account} is held by {self.holders[account][0]}"
        self.holders[account] = (owner, self._now_us())

    async def acquire(self, account: str, owner: str, timeout_ms: int) -> bool:
        """Wait for the lock; return whether ``owner`` got it in time."""
        if account not in self.holders:
            self.take(account, owner)
            return True
        wait = LockWait(account, owner, self.holders[account][0], self._now_us())
        self.waits.append(wait)
        queued = _Queued(owner, asyncio.get_running_loop().create_future(), wait)
        self._queues.setdefault(account, deque()).append(queued)
        try:
            async with asyncio.timeout(timeout_ms / 1_000):
                await queued.granted
        except TimeoutError:
            # The lock may have been granted exactly when the timeout expired.
            pass
        finally:
            if queued in self._queues.get(account, ()):
                self._queues[account].remove(queued)
            if wait.until_us is None:
                wait.until_us = self._now_us()
        wait.is_in_vain = self.holder_of(account) != owner
        return not wait.is_in_vain

    def give_up(self, account: str, owner: str) -> None:
        """Cancel waits in the name of ``owner``; the waiters are notified that they did not get the lock."""
        for queued in self._queues.get(account, ()):
            if queued.owner == owner and not queued.granted.done():
                queued.granted.set_result(False)

    def release(self, account: str, owner: str) -> None:
        """Release the lock to the longest waiter. Nothing happens if ``owner`` does not have it."""
        if self.holder_of(account) != owner:
            return
        del self.holders[account]
        queue = self._queues.get(account)
        while queue:
            queued = queue.popleft()
            if not queued.granted.done():
                self.take(account, queued.owner)
                queued.wait.until_us = self._now_us()
                queued.granted.set_result(True)
                break
        for later in queue or ():
            later.wait.holder = self.holders[account][0]
