"""A customer at the cash machine of a bank, who looks up the balance under the account's lock, repeatedly.

It changes nothing. It shows who has to wait while an account is locked, and for how long: with a two-phase commit, for
a branch in doubt; with a transactional message, for the local transaction only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable

from engine.lab.nodes.history import BalanceLookup
from engine.lab.nodes.scenario_node import ScenarioNode
from engine.lab.scenario.kinds.bank_spec import CashMachineSpec

#: Owner of the lock during a look-up.
CUSTOMER = "cash machine"
#: Most finished look-ups that are shown.
LOOKUPS_KEPT = 24


class CashMachine:
    """A customer at a cash machine who looks up a balance repeatedly.

    :param look_up: waits for the lock and reads the balance; None: the lock was not free in time.
    :param holder: returns who has the lock now; empty if it is free.
    :ivar waits: who had the lock when the wait began, and since when it waits; None: it does not wait.
    :ivar ended: the newest look-ups, oldest first.
    """

    def __init__(
        self,
        role: ScenarioNode,
        spec: CashMachineSpec,
        look_up: Callable[[], Awaitable[int | None]],
        holder: Callable[[], str],
    ) -> None:
        self._role = role
        self._spec = spec
        self._look_up = look_up
        self._holder = holder
        self._next = 0
        self.waits: tuple[str, int] | None = None
        self.ended: deque[BalanceLookup] = deque(maxlen=LOOKUPS_KEPT)

    async def run(self) -> None:
        """Run until all look-ups have been made. A new process continues with the next."""
        role, spec = self._role, self._spec
        world = role.world
        while self._next < spec.count:
            await role.until(spec.start_ms + self._next * spec.every_ms)
            holder, began_us = self.waits = (self._holder(), world.now_us)
            balance = await self._look_up()
            self.waits = None
            ended = BalanceLookup(*role.here_and_now, began_us, holder, balance)
            self.ended.append(ended)
            world.history.balance_lookups.append(ended)
            # A customer who had to wait does not hurry afterwards: look-ups that were due meanwhile are left out.
            gone_ms = world.now_us // 1_000 - spec.start_ms
            self._next = max(self._next, gone_ms // spec.every_ms) + 1

    def forget(self) -> None:
        """Reset the state that ends with the process."""
        self.waits = None
