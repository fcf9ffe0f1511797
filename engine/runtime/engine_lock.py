"""A lock that shows its owner and its waiters, and that the lab can switch off.

RocketMQ: ``ReentrantLock``, ``synchronized``, ``LockObject``. As with an unfair ``ReentrantLock``, the first attempt
after a release gets the lock, even before waiters. ``asyncio.Lock`` does not suffice: without contention it does not
yield, so a schedule in which another actor acquires first could never happen; and it does not show its owner.
Simplified: its owner cannot acquire it again.
"""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType

from engine.runtime.step import Actor, acting, step

_Party = asyncio.Task[object] | Actor | None


def _current_party() -> _Party:
    """Return the acting party: in the lab the actor (a task, or a link that calls a handler), live the task.

    ``None`` for a live callback.
    """
    actor = acting.get()
    if actor is not None:
        return actor
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def _name_of(party: _Party) -> str:
    actor = acting.get()
    if actor is not None:
        return actor.name
    return party.get_name() if isinstance(party, asyncio.Task) else "callback"


class EngineLock:
    """A lock. ``name`` is its kind, without varying parts, because it is part of a step's label."""

    __slots__ = ("_enabled", "_inside", "_is_held", "_owner_name", "_owner_party", "_waiters", "name")

    def __init__(self, name: str, enabled: bool = True) -> None:
        self.name = name
        self._enabled = enabled
        self._is_held = False
        self._owner_party: _Party = None
        self._owner_name: str | None = None
        self._waiters: deque[tuple[asyncio.Future[None], str]] = deque()
        #: Parties that entered while the lock was switched off, with the number of their entries.
        self._inside: dict[_Party, int] = {}

    @property
    def owner(self) -> str | None:
        """Return the name of the task (in the lab: of the actor) that has the lock."""
        return self._owner_name

    @property
    def waiters(self) -> tuple[str, ...]:
        """Return the names of the waiters, longest waiting first."""
        return tuple(name for _, name in self._waiters)

    @property
    def is_locked(self) -> bool:
        """Return whether the lock is taken."""
        return self._is_held

    @property
    def enabled(self) -> bool:
        """False: the lock excludes no party. A switch for lessons that show what breaks without it."""
        return self._enabled

    @enabled.setter
    def enabled(self, enabled: bool) -> None:
        self._enabled = enabled
        if not enabled:
            for waiter, _ in self._waiters:
                if not waiter.done():
                    waiter.set_result(None)

    def try_acquire(self) -> bool:
        """Take the lock if it is free and return whether it was. Does not wait and is not a step point."""
        party = _current_party()
        if not self._enabled:
            self._inside[party] = self._inside.get(party, 0) + 1
            return True
        if self._is_held:
            return False
        self._is_held, self._owner_party, self._owner_name = True, party, _name_of(party)
        return True

    async def acquire(self) -> None:
        """Take the lock, waiting as long as needed. Always passes a step point first."""
        await step(f"acquires lock {self.name}")
        assert not (self._is_held and self._owner_party is _current_party()), (
            f"{self._owner_name} acquires lock {self.name} again: it is not reentrant"
        )
        enqueue = self._waiters.append
        while not self.try_acquire():
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            entry = (waiter, _name_of(_current_party()))
            enqueue(entry)
            try:
                await waiter
            except asyncio.CancelledError:
                if waiter.done() and not waiter.cancelled() and not self._is_held:
                    # Woken and cancelled at the same time: the wake-up must be passed to another waiter.
                    self._wake_first()
                raise
            finally:
                self._waiters.remove(entry)
            # Another party was faster: this one still waits longest.
            enqueue = self._waiters.appendleft

    def within(self, timeout_ms: int) -> _Within:
        """Wait at most this long: ``async with lock.within(1_000) as is_held``; the block runs in any case."""
        return _Within(self, timeout_ms)

    def release(self) -> None:
        """Release the lock. Raises ``RuntimeError`` if the caller does not have it."""
        party = _current_party()
        if self._is_held and self._owner_party is party:
            self._is_held, self._owner_party, self._owner_name = False, None, None
            self._wake_first()
            return
        count = self._inside.pop(party, 0)
        if count == 0:
            owner = self._owner_name or "nobody"
            raise RuntimeError(f"{_name_of(party)} releases lock {self.name}, which is held by {owner}")
        if count > 1:
            self._inside[party] = count - 1

    def _wake_first(self) -> None:
        for waiter, _ in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
                return

    async def __aenter__(self) -> EngineLock:
        await self.acquire()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is not GeneratorExit:
            self.release()
        # Otherwise the world is gone with this coroutine: no party waits for the lock any more.


class _Within:
    """A context that has the lock, if it could be acquired in time."""

    __slots__ = ("_is_held", "_lock", "_timeout_ms")

    def __init__(self, lock: EngineLock, timeout_ms: int) -> None:
        self._lock = lock
        self._timeout_ms = timeout_ms
        self._is_held = False

    async def __aenter__(self) -> bool:
        try:
            async with asyncio.timeout(self._timeout_ms / 1_000):
                await self._lock.acquire()
        except TimeoutError:
            return False
        self._is_held = True
        return True

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._is_held:
            await self._lock.__aexit__(kind, error, traceback)
