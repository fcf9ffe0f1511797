"""Flow of money between two banks, transfer by transfer, according to the banks' commits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.bank.bank_action import COMMITTED, PREPARED, Doing

if TYPE_CHECKING:
    from engine.lab.nodes.history import BankEntry


@dataclass(slots=True)
class TransferFlow:
    """One transfer. Amounts are what commits have moved so far.

    :ivar reserved: what a bank has promised to take, and can take whatever happens: a prepared branch of two-phase
        commit.
    :ivar debited_us, credited_us: when the first commit on either side was; None: no commit yet.
    """

    key: str
    debited: int = 0
    credited: int = 0
    reserved: int = 0
    debited_us: int | None = None
    credited_us: int | None = None

    @property
    def in_flight(self) -> int:
        """Return what was debited and not credited yet."""
        return max(0, self.debited - self.credited)

    @property
    def from_nowhere(self) -> int:
        """Return what was credited and not debited."""
        return max(0, self.credited - self.debited)

    @property
    def window_us(self) -> int | None:
        """Return how long only one bank had done its part; None if this is still so, or nothing was done."""
        if self.debited_us is None or self.credited_us is None:
            return None
        return abs(self.credited_us - self.debited_us)


class MoneyFlow:
    """The transfers of a world.

    :ivar transfers: by key, in the order of the first commit or promise.
    :ivar debited, credited: sums over all of them.
    :ivar in_flight, from_nowhere: likewise, summed transfer by transfer: one transfer's debit does not offset another's
        credit. ``debited - credited`` is ``in_flight - from_nowhere``.
    """

    def __init__(self) -> None:
        self.transfers: dict[str, TransferFlow] = {}
        self.debited = 0
        self.credited = 0
        self.in_flight = 0
        self.from_nowhere = 0

    def take(self, entry: BankEntry) -> TransferFlow | None:
        """Add an action of a bank; return the transfer whose amounts it has changed, if any."""
        if entry.outcome not in (COMMITTED, PREPARED) or entry.doing == Doing.CHECK:
            return None
        flow = self.transfers.setdefault(entry.key, TransferFlow(entry.key))
        self.in_flight -= flow.in_flight
        self.from_nowhere -= flow.from_nowhere
        if entry.outcome == PREPARED:
            if entry.doing == Doing.DEBIT:
                flow.reserved += entry.amount
        elif entry.doing == Doing.DEBIT:
            self.debited += entry.amount
            flow.debited += entry.amount
            flow.debited_us = entry.time_us if flow.debited_us is None else flow.debited_us
        else:
            self.credited += entry.amount
            flow.credited += entry.amount
            flow.credited_us = entry.time_us if flow.credited_us is None else flow.credited_us
        self.in_flight += flow.in_flight
        self.from_nowhere += flow.from_nowhere
        return flow
