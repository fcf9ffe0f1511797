"""The idempotent listener on a consumer's node: its stores over the lab's network, its strategy by the node's settings.

Settings take effect with the next message; a strategy with state in memory loses it then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

from engine.client.callbacks.consume_concurrently import ConsumeConcurrentlyContext
from engine.client.callbacks.consume_orderly import ConsumeOrderlyContext
from engine.idempotence.foundation.counters import IdempotenceCounters
from engine.idempotence.foundation.record_store import RecordStore
from engine.idempotence.foundation.sql_port import SqlTransaction
from engine.idempotence.idempotence_config import IdempotenceConfig, key_of, make_strategy
from engine.idempotence.idempotent_listener import DeliveryWatcher, IdempotentListener, WhenUnreachable
from engine.idempotence.stores.redis_record_store import RedisRecordStore
from engine.idempotence.stores.sql_record_store import SqlRecordStore
from engine.idempotence.strategies.strategy import DeliveryVerdict
from engine.lab.nodes.history import DeliveryJudged
from engine.lab.nodes.relay import Relay, RelayingListener, order_of
from engine.lab.nodes.scenario_node import MemberNode
from engine.lab.nodes.store_nodes import RedisNode
from engine.lab.scenario.listener_spec import ListenerResult, ListenerSpec
from engine.lab.work.message_work import ScenarioWork, WorkFailed
from engine.lab.work.store_clients import LabRedis, LabService, LabSqlDatabase, StoreClient
from engine.lab.work.store_frames import STORE_PORT
from engine.lab.work.work_spec import WorkConfig, WorkSpec
from engine.protocol.message.message import MessageExt

#: :attr:`~engine.lab.nodes.history.DeliveryJudged.verdict` of a delivery whose work, or whose store, has failed.
FAILED = "failed"
#: The verdict of a delivery that was acknowledged before its work, see :mod:`engine.lab.nodes.in_memory_queue`.
HANDED_OVER = "handed-over"


class NodeGuard:
    """Guard the work of a consumer's process.

    :param behaviour: returns how the consumer's listener behaves now.
    :param relay: sends the next message with each piece of work; None: no next message.
    :param watcher: called with the outcome of each delivery.
    :param counters: over all processes of the node.
    :param judged: where the newest verdicts go.
    :ivar listener: the idempotent listener of the settings as they are.
    :ivar database: the one that it changes.
    """

    def __init__(
        self,
        role: MemberNode,
        spec: WorkSpec,
        behaviour: Callable[[], ListenerSpec],
        relay: Relay | None = None,
        watcher: DeliveryWatcher | None = None,
        *,
        counters: IdempotenceCounters,
        judged: deque[DeliveryJudged],
    ) -> None:
        self._role = role
        self._counters = counters
        self._judged = judged
        self._watcher = watcher
        self._behaviour = behaviour
        self._spec = spec
        self._client = StoreClient(role.runtime, role.name)
        self.database = LabSqlDatabase(self._client, _address(role, spec.database))
        self._work = ScenarioWork(role.name, self.database, self._services(), spec.steps)
        self._relay = relay
        if relay is not None:
            relay.database = self.database
        self._config = self._config_now()
        self.listener = self._make_listener()
        #: Deliveries that the scenario lets fail; a message is equal only to itself.
        self._failing: dict[MessageExt, None] = {}
        #: Verdicts on the messages of a call.
        self._verdicts: dict[MessageExt, DeliveryVerdict | None] = {}

    def _services(self) -> dict[str, LabService]:
        names = self._spec.services
        return {name: LabService(self._client, _address(self._role, name), self._role.name) for name in names}

    def _config_now(self) -> IdempotenceConfig:
        return self._role.config(IdempotenceConfig)

    @property
    def config(self) -> IdempotenceConfig:
        """Return the present configuration."""
        return self._config

    def _make_listener(self) -> IdempotentListener:
        role, config = self._role, self._config
        make = partial(RelayingListener, self._relay) if self._relay is not None else IdempotentListener
        listener = make(
            role.runtime,
            self._do,
            make_strategy(config, self.database, self._records(), role.runtime.clock),
            config.scope(role.spec.group),
            key_of(config.idempotence_key),
            config.idempotence_expiry_ms,
            WhenUnreachable(config.idempotence_when_unreachable),
            checks_body=config.idempotence_checks_body,
            watcher=self._note,
        )
        listener.counters = self._counters
        return listener

    def _records(self) -> RecordStore:
        name = self._spec.records
        if self._role.world.find(RedisNode, name) is not None:
            return RedisRecordStore(LabRedis(self._client, _address(self._role, name)))
        return SqlRecordStore(LabSqlDatabase(self._client, _address(self._role, name)))

    async def listen(
        self,
        messages: Sequence[MessageExt],
        context: ConsumeConcurrentlyContext | ConsumeOrderlyContext,
        wanted: Sequence[ListenerResult],
    ) -> list[ListenerResult]:
        """Handle a call of the listener; return the result for each message.

        :param wanted: the result that the scenario wants for each.
        """
        self._follow_settings()
        for message, result in zip(messages, wanted, strict=True):
            if result is not ListenerResult.SUCCESS:
                self._failing[message] = None
        if isinstance(context, ConsumeOrderlyContext):
            await self.listener.orderly(messages, context)
        else:
            await self.listener.concurrently(messages, context)
        verdicts = [self._verdicts.pop(message, None) for message in messages]
        for message in messages:
            self._failing.pop(message, None)
        done = [verdict is not None and verdict.is_acknowledged for verdict in verdicts]
        first_again = done.index(False) if False in done else len(done)
        return [
            ListenerResult.SUCCESS if index < first_again else ListenerResult.LATER for index in range(len(messages))
        ]

    def hand_over(self, messages: Sequence[MessageExt]) -> None:
        """Acknowledge messages now; :meth:`work_off` comes later, or never."""
        for message in messages:
            self._report(message, order_of(message), HANDED_OVER, is_acknowledged=True)

    async def work_off(self, message: MessageExt) -> None:
        """Do the work of a message that was handed over. If it fails, there is no retry."""
        self._follow_settings()
        await self.listener.consume(message)
        self._verdicts.pop(message, None)

    def _follow_settings(self) -> None:
        config = self._config_now()
        if config != self._config:
            self._config, under_way = config, self.listener.under_way
            self.listener = self._make_listener()
            self.listener.under_way = under_way

    async def _do(self, message: MessageExt, transaction: SqlTransaction | None) -> None:
        listener = self._behaviour()
        failure = WorkFailed("the scenario lets the work fail") if message in self._failing else None
        strategy = self._config.idempotence_strategy
        duration_ms = listener.hand_over_ms if listener.hand_over else listener.duration_ms + listener.each_ms
        undoes_calls = self._role.config(WorkConfig).work_undoes_calls
        await self._work.do(order_of(message), strategy, transaction, duration_ms, failure, undoes_calls=undoes_calls)
        if self._relay is not None:
            await self._relay.note(message, transaction or self.database)

    def _note(self, message: MessageExt, business_key: str, verdict: DeliveryVerdict | None) -> None:
        self._verdicts[message] = verdict
        word, is_acknowledged = (FAILED, False) if verdict is None else (verdict.value, verdict.is_acknowledged)
        self._report(message, business_key, word, is_acknowledged=is_acknowledged)
        if self._watcher is not None:
            self._watcher(message, business_key, verdict)

    def _report(self, message: MessageExt, business_key: str, word: str, *, is_acknowledged: bool) -> None:
        role = self._role
        keys = (_key_of(message), order_of(message), business_key)
        judged = DeliveryJudged(*role.here_and_now, role.spec.group, *keys, word, is_acknowledged)
        role.world.history.deliveries_judged.append(judged)
        self._judged.append(judged)

    async def shutdown(self) -> None:
        """Stop cleanly."""
        await self._client.shutdown()


def _key_of(message: MessageExt) -> str:
    return message.keys[0] if message.keys else ""


def _address(role: MemberNode, node: str) -> str:
    return f"{role.world.nodes[node].runtime.identity.host_ip}:{STORE_PORT}"
