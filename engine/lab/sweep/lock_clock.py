"""Measures how long accounts are locked for one transfer, whoever locks them and whatever crashes meanwhile."""

from __future__ import annotations

from engine.lab.nodes.consumer_role import ConsumerRole
from engine.lab.nodes.node_role import LabNodeRole
from engine.lab.nodes.producer_role import ProducerRole
from engine.lab.nodes.xa_roles import ResourceManagerRole
from engine.lab.world.world import ScenarioWorld


class LockClock:
    """Ask it to look after each event.

    A lock is one on an account in two-phase commit (that of a promise outlives the process), and the one writer's in a
    local transaction.
    """

    def __init__(self, world: ScenarioWorld, key: str) -> None:
        self._world = world
        self._key = key
        self._roles = [
            role
            for role in world.nodes.values()
            if isinstance(role, ResourceManagerRole | ProducerRole | ConsumerRole) and role.node_bank is not None
        ]
        #: Node -> since when it is locked.
        self._since_us: dict[str, int] = {}
        self._total_us: dict[str, int] = {}

    @property
    def longest_us(self) -> int:
        """The longest of all banks, up to now."""
        now_us = self._world.now_us
        open_us = {node: now_us - since_us for node, since_us in self._since_us.items()}
        nodes = dict.fromkeys((*self._total_us, *open_us))
        return max((self._total_us.get(node, 0) + open_us.get(node, 0) for node in nodes), default=0)

    def after_event(self, number: int) -> None:
        """Look."""
        now_us = self._world.now_us
        for role in self._roles:
            begun_us = self._locked_since(role)
            known_us = self._since_us.get(role.name)
            if begun_us is not None and known_us is None:
                self._since_us[role.name] = begun_us
            elif begun_us is None and known_us is not None:
                self._total_us[role.name] = self._total_us.get(role.name, 0) + now_us - self._since_us.pop(role.name)

    def _locked_since(self, role: LabNodeRole) -> int | None:
        """Since when an account of it is locked for the transfer; None: it is not."""
        if isinstance(role, ResourceManagerRole):
            manager = role.resource_manager
            if manager is None:
                # Nobody runs, so nobody is let in; but only a promise is still kept afterwards.
                return self._since_us.get(role.name) if role.is_moving(self._key) else None
            for branch in manager.open.values():
                held = manager.locks.holders.get(branch.account)
                if branch.work.transfer.key == self._key and held is not None and held[0] == branch.xid:
                    return held[1]
            return None
        assert isinstance(role, ProducerRole | ConsumerRole), "others have no bank"
        bank = role.node_bank.bank if role.node_bank is not None else None
        if bank is None or not bank.accounts.database.in_transaction:
            return None
        return next((deed.since_us for deed in bank.open.values() if deed.key == self._key), None)
