"""What a start has set going is ended on every way out."""

from __future__ import annotations

import asyncio
import logging
from functools import partial

import pytest

from engine.runtime.started_parts import PartsState, StartedParts, StartRefused, end_all


class Component:
    """Three parts, each of which takes two turns of the loop to start and two to end.

    :ivar happened: "+part" when its start begins, "-part" when its end is called, "-part." when that is through.
    """

    def __init__(self, fails_at: str = "", fails_to_end: str = "") -> None:
        self.happened: list[str] = []
        self.parts = StartedParts("X")
        self._fails_at, self._fails_to_end = fails_at, fails_to_end

    async def start(self) -> None:
        async with self.parts.starting():
            for part in "abc":
                self.parts.add(partial(self._end, part))
                self.happened.append(f"+{part}")
                await self._two_turns()
                if part == self._fails_at:
                    raise OSError(part)

    async def _end(self, part: str) -> None:
        self.happened.append(f"-{part}")
        await self._two_turns()
        if part == self._fails_to_end:
            raise ValueError(part)
        self.happened.append(f"-{part}.")

    async def _two_turns(self) -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    @property
    def started(self) -> str:
        return "".join(what[1] for what in self.happened if what[0] == "+")

    @property
    def ended(self) -> str:
        return "".join(what[1] for what in self.happened if what[0] == "-" and what[-1] != ".")


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.mark.parametrize("count", range(1, 7))
def test_what_had_begun_is_ended_last_first_when_the_start_is_cancelled(count):
    async def run() -> None:
        component = Component()
        starting = asyncio.create_task(component.start())
        await turns(count)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        assert component.started != "" and component.ended == component.started[::-1]
        assert component.parts.state is PartsState.ENDED

    asyncio.run(run())


@pytest.mark.parametrize("part", "abc")
def test_a_start_that_fails_ends_what_had_begun_and_raises_its_own_error(part, caplog):
    component = Component(fails_at=part, fails_to_end="a")
    with pytest.raises(OSError, match=part):
        asyncio.run(component.start())
    assert component.ended == component.started[::-1] == "cba"["cba".index(part) :]
    assert "X could not be started, nor shut down completely" in caplog.text


@pytest.mark.parametrize("count", range(1, 6))
def test_an_end_during_the_start_waits_until_all_is_ended_and_the_start_says_so(count):
    async def run() -> None:
        component = Component()
        starting = asyncio.create_task(component.start())
        await turns(count)
        await asyncio.gather(component.parts.end(), component.parts.end())
        assert component.ended == component.started[::-1]
        with pytest.raises(StartRefused, match="X was shut down while it started; make a new one"):
            await starting
        assert starting.cancelling() == 0, "whoever started it was not cancelled"

    asyncio.run(run())


def test_a_start_that_is_cancelled_while_it_is_cut_off_is_cancelled():
    async def run() -> None:
        component = Component()
        starting = asyncio.create_task(component.start())
        await turns(2)
        ending = asyncio.create_task(component.parts.end())
        await turns(1)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        await ending
        assert component.ended == component.started[::-1]

    asyncio.run(run())


@pytest.mark.parametrize("count", range(1, 6))
def test_an_end_that_is_cancelled_calls_all_endings_and_a_second_one_waits_for_it(count):
    async def run() -> None:
        component = Component()
        await component.start()
        ending = asyncio.create_task(component.parts.end())
        await turns(count)
        second = asyncio.create_task(component.parts.end())
        await turns(1)
        assert not second.done()
        ending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ending
        await second
        assert component.ended == "cba"
        assert sum(what.endswith(".") for what in component.happened) >= 2, "only one was cut short"

    asyncio.run(run())


def test_a_failing_end_keeps_no_other_from_being_called():
    async def run() -> None:
        component = Component(fails_to_end="b")
        await component.start()
        with pytest.raises(ValueError, match="b"):
            await component.parts.end()
        assert component.ended == "cba"
        await component.parts.end()

    asyncio.run(run())


def test_of_several_failures_a_cancellation_goes_on_and_the_others_are_logged(caplog):
    async def run() -> None:
        def cancelled() -> None:
            raise asyncio.CancelledError

        def failed() -> None:
            raise ValueError("this one")

        with caplog.at_level(logging.ERROR), pytest.raises(asyncio.CancelledError):
            await end_all((failed, cancelled), "X")
        assert "X could not be shut down completely" in caplog.text and "this one" in caplog.text

    asyncio.run(run())


def test_what_was_never_started_ends_without_a_word_and_starts_no_more():
    async def run() -> None:
        component = Component()
        await component.parts.end()
        assert component.happened == []
        with pytest.raises(StartRefused, match="X is shut down: it cannot be started again; make a new one"):
            await component.start()

    asyncio.run(run())


def test_other_endings_may_take_the_place_of_those_of_a_component_that_runs():
    async def run() -> None:
        component = Component()
        await component.start()
        await component.parts.end((lambda: component.happened.append("-1"), lambda: component.happened.append("-2")))
        assert component.ended == "12"

    asyncio.run(run())
