"""TCC (try, confirm, cancel): reservations at services, from both ends.

::

                 try               confirm
    (nothing) --------> tried ----------------> confirmed
        |                 |
        | cancel          | cancel
        +---------------> cancelled

What is not in the table changes nothing, and is answered with what is: a second confirm, a *cancel of nothing* (it is
remembered), a *try after the cancel* (refused: it would never be ended). A service that keeps no states does each thing
as often as it is asked.

The caller (:func:`reserve_all`) has no log of its own: the message that requests the work is delivered again until it
is acknowledged, and the first service decides for all. The others follow whichever request it received first, confirm
or cancel; so two deliveries, or one after a crash, cannot end differently.

RocketMQ has no counterpart; Seata calls it TCC mode. Simplified: a reservation whose message is a dead letter stays.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from engine.idempotence.foundation.errors import AlreadyDone, StoreUnreachable
from engine.runtime.step import step

#: (operation, key) -> how often it is done: the state of a service.
Done = dict[tuple[str, str], int]


class ReservationEvent(StrEnum):
    """A request to a reservation service."""

    TRY = "try"
    CONFIRM = "confirm"
    CANCEL = "cancel"


class ReservationState(StrEnum):
    """The answer of a reservation service; ``REFUSED``: there is nothing left to reserve."""

    NOTHING = "nothing"
    TRIED = "tried"
    CONFIRMED = "confirmed"
    CANCELLED = "cancelled"
    REFUSED = "refused"


_TRANSITIONS: Mapping[tuple[ReservationState, ReservationEvent], ReservationState] = {
    (ReservationState.NOTHING, ReservationEvent.TRY): ReservationState.TRIED,
    (ReservationState.NOTHING, ReservationEvent.CANCEL): ReservationState.CANCELLED,
    (ReservationState.TRIED, ReservationEvent.CONFIRM): ReservationState.CONFIRMED,
    (ReservationState.TRIED, ReservationEvent.CANCEL): ReservationState.CANCELLED,
}
_STATE_AFTER = {
    ReservationEvent.TRY: ReservationState.TRIED,
    ReservationEvent.CONFIRM: ReservationState.CONFIRMED,
    ReservationEvent.CANCEL: ReservationState.CANCELLED,
}


# --- a service -------------------------------------------------------------------------------------------------------


def state_of(done: Done, key: str) -> ReservationState:
    """Return the state of the reservation ``key``."""
    for event in (ReservationEvent.CONFIRM, ReservationEvent.CANCEL, ReservationEvent.TRY):
        if done.get((event.value, key)):
            return _STATE_AFTER[event]
    return ReservationState.NOTHING


class Reserved(NamedTuple):
    """The result of a reservation request.

    :ivar is_done: whether anything was done; ``ends_try``: it released a reservation.
    """

    state: ReservationState
    is_done: bool = False
    ends_try: bool = False


def reserve(done: Done, event: ReservationEvent, key: str, *, keeps_states: bool, most: int) -> Reserved:
    """Carry out a request at a service.

    :param most: most items that may be reserved and sold; 0: any number.
    """
    before = state_of(done, key)
    if keeps_states and (before, event) not in _TRANSITIONS:
        return Reserved(before)
    taken = sum(times for (operation, _), times in done.items() if operation != ReservationEvent.CANCEL)
    if event is ReservationEvent.TRY and most and taken >= most:
        return Reserved(ReservationState.REFUSED)
    ends_try = event is not ReservationEvent.TRY and not (keeps_states and before is ReservationState.NOTHING)
    if ends_try:
        done[ReservationEvent.TRY.value, key] = done.get((ReservationEvent.TRY.value, key), 0) - 1
    done[event.value, key] = done.get((event.value, key), 0) + 1
    return Reserved(_STATE_AFTER[event], is_done=True, ends_try=ends_try)


# --- participants ----------------------------------------------------------------------------------------------------


class Reserves(Protocol):
    """A client of a remote service that takes reservations."""

    async def reserve(self, event: ReservationEvent, key: str) -> ReservationState:
        """Send a request; return the state of the reservation. Raises ``StoreUnreachable``: it is unknown whether it
        was done.
        """
        ...


async def reserve_all(services: Sequence[Reserves], key: str, pause_s: float) -> None:
    """Reserve at all services, then confirm at all or cancel at all.

    Raises ``StoreUnreachable`` in the second phase: the message must be delivered again; ``AlreadyDone`` when all is
    cancelled.
    """
    event = ReservationEvent.CONFIRM
    for service in services:
        await asyncio.sleep(pause_s)
        await step("tries to reserve")
        try:
            state = await service.reserve(ReservationEvent.TRY, key)
        except StoreUnreachable:
            state = ReservationState.NOTHING  # it is unknown whether it was reserved
        if state not in (ReservationState.TRIED, ReservationState.CONFIRMED):
            event = ReservationEvent.CANCEL
            break
    for service in services:
        await step("confirms or cancels a reservation")
        state = await service.reserve(event, key)
        if service is services[0]:
            event = ReservationEvent.CONFIRM if state is ReservationState.CONFIRMED else ReservationEvent.CANCEL
    if event is ReservationEvent.CANCEL:
        raise AlreadyDone(f"{key} is cancelled")
