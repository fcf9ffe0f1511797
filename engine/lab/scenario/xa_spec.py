"""What a scenario says of the nodes of a two-phase commit, see :mod:`engine.xa`, and of cash machines."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TransfersSpec:
    """Transfers that a transaction manager makes, one after the other: so much from one bank to another, all alike.

    :ivar source, target: names of resource managers: their accounts are debited and credited.
    :ivar key: names each transfer; ``{n}`` is its number, from 0.
    """

    source: str
    target: str
    amount: int
    count: int
    every_ms: int
    start_ms: int
    key: str

    def key_of(self, number: int) -> str:
        """The name of transfer ``number``."""
        return self.key.replace("{n}", str(number))


@dataclass(frozen=True, slots=True)
class CashMachineSpec:
    """Somebody who looks up the balance of a bank's account, under the lock that a withdrawal needs, again and again.

    :ivar count: how often.
    """

    every_ms: int
    start_ms: int
    count: int
