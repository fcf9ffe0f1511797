"""The state of the live engine as one JSON tree for the page; it has only what the engine has.

Runs in the engine's thread, at most ten times a second and only while a page watches.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, cast

from app.foundation.version import version
from app.observation.commit_log_tail import CommitLogTail, log_offsets
from app.observation.connections_view import ConnectionsView
from app.observation.damage_view import damage_view
from app.observation.delay_levels_view import DelayLevelsView
from app.observation.groups_view import GroupsView
from app.observation.record_view import record_summary
from app.observation.replication_view import replication_view
from app.observation.stored_numbers import StoredNumbers
from app.observation.topics_view import TopicsView, committed_offsets
from app.observation.transactions_view import TransactionsView
from app.observation.unix_time import unix_us
from engine.broker.foundation.broker_stats_manager import HISTORY_SECONDS
from engine.protocol.names import DLQ_GROUP_TOPIC_PREFIX
from engine.runtime.port import DiskFault

if TYPE_CHECKING:
    from app.observation.client_names import ClientNames
    from app.observation.recent_log import RecentLog
    from app.picture.cluster import Cluster
    from app.picture.commit_log import CommitLog
    from app.picture.connection import Connection
    from app.picture.consumer_group import ConsumerGroup
    from app.picture.live_state import EngineState, HealthFacts
    from app.picture.lock import Lock
    from app.picture.rates import Rates
    from engine.broker.broker import Broker
    from engine.name_server.name_server import NameServer


class LiveState:
    """Builds the state, and holds what is requested from the same engine separately."""

    def __init__(
        self,
        name_server: NameServer,
        broker: Broker,
        data_folder: str,
        recent_log: RecentLog,
        client_names: ClientNames,
    ) -> None:
        self._name_server = name_server
        self._broker = broker
        self._client_names = client_names
        self._data_folder = data_folder
        self._recent_log = recent_log
        self.topics = TopicsView(broker)
        self._groups = GroupsView(broker)
        self._connections = ConnectionsView(broker)
        self._tail = CommitLogTail(broker.store, record_summary)
        self._transactions = TransactionsView(broker)
        self._delay_levels = DelayLevelsView(broker)
        self.numbers = StoredNumbers(broker)

    def brief(self) -> HealthFacts:
        """Return what the rules of ``app/watch`` need: parts of the tree, and of all groups and connections, also those
        that a page leaves out, ``dead_letters`` and ``unsent``. Cheap enough for every second, also while no page
        watches.
        """
        now_ms = self._broker.runtime.clock.now_ms()
        committed = committed_offsets(self._broker)
        groups, _ = self._groups.build(committed)
        connections, omitted_connections = self._connections.build()
        return {
            "cluster": {"now_us": unix_us(now_ms - now_ms % 1000)},
            "connections": connections,
            "client_names": self._names(connections, groups, {}),
            "omitted": {"connections": omitted_connections},
            "topics": self.topics.build(committed)[0],
            "groups": groups,
            "transactions": self._transactions.build(),
            "rates": self._rates(now_ms, groups),
            "commit_log": {"damage": damage_view(self._broker.store)},
            "numbers": self.numbers.view,
            "replication": replication_view(self._broker),
            "put_failures": self._broker.stats.put_failures,
            "dead_letters": self._dead_letters(),
            "unsent": {
                channel.remote_address: channel.unsent_bytes
                for channel in self._broker.server.channels
                if channel.unsent_bytes
            },
            "disk_used": self._disk_used(),
        }

    def _disk_used(self) -> float:
        try:
            return self._broker.runtime.disk.used_ratio()
        except DiskFault:  # a folder that was taken away has no room
            return 1.0

    def build(self) -> EngineState:
        """Return a fresh tree. Parts that never change once made (records, log lines) are shared between trees."""
        # The page needs the broker's clock to the second only; a finer one would make every state a new one.
        now_ms = self._broker.runtime.clock.now_ms()
        now_ms -= now_ms % 1000
        committed = committed_offsets(self._broker)
        topics, omitted_topics = self.topics.build(committed)
        groups, omitted_groups = self._groups.build(committed)
        connections, omitted_connections = self._connections.build()
        locks = self._groups.locks()
        return {
            "cluster": self._cluster(now_ms),
            "connections": connections,
            "client_names": self._names(connections, groups, locks),
            "topics": topics,
            "groups": groups,
            "commit_log": self._commit_log(),
            "locks": locks,
            "transactions": self._transactions.build(),
            "delay_levels": self._delay_levels.build(),
            "numbers": self.numbers.view,
            "replication": replication_view(self._broker),
            "rates": self._rates(now_ms, groups),
            "log": self._recent_log.lines(),
            "omitted": {
                "topics": omitted_topics,
                "messages": self.topics.messages_left_out(now_ms),
                "groups": omitted_groups,
                "connections": omitted_connections,
            },
        }

    def _names(
        self,
        connections: dict[str, Connection],
        groups: dict[str, ConsumerGroup],
        locks: dict[str, dict[str, Lock]],
    ) -> dict[str, str]:
        """Return client id -> short name, of all clients in the picture."""
        of, names = self._client_names.of, {}
        for address, connection in connections.items():
            for client in connection["client_ids"]:
                names[client] = of(client, address, consumes="consumer" in connection["role"])
        for group in groups.values():
            for client, member in group["members"].items():
                names[client] = of(client, member["address"], consumes=True)
        for leases in locks.values():
            for lock in leases.values():
                names[lock["client_id"]] = of(lock["client_id"], consumes=True)
        return names

    def _dead_letters(self) -> dict[str, int]:
        """Return group -> how many dead letters it ever had."""
        store = self._broker.store
        return {
            topic.removeprefix(DLQ_GROUP_TOPIC_PREFIX): sum(
                store.max_offset(topic, queue_id) for queue_id in range(config.queue_nums)
            )
            for topic, config in self._broker.topic_config_manager.topic_config_table.items()
            if topic.startswith(DLQ_GROUP_TOPIC_PREFIX)
        }

    def _rates(self, now_ms: int, groups: dict[str, ConsumerGroup]) -> Rates:
        """Return the rates of the last full second."""
        backlog = sum(group["lag"] or 0 for group in groups.values())
        rates = asdict(self._broker.stats.last_second(now_ms))
        return cast("Rates", {"begin_us": rates.pop("second") * 1_000_000, **rates, "backlog": backlog})

    def last_seconds(self, count: int = HISTORY_SECONDS) -> list[dict[str, int]]:
        """Return the last full seconds, oldest first: rates, without the backlog."""
        return [asdict(row) for row in self._broker.stats.history(self._broker.runtime.clock.now_ms(), count)]

    def history(self) -> dict[str, list[int]]:
        """Return one list per measure of the last ten minutes, and ``begin_us``."""
        rows = self.last_seconds()
        history = {"begin_us": [row["second"] * 1_000_000 for row in rows]}
        history.update((name, [row[name] for row in rows]) for name in rows[0] if name != "second")
        return history

    def _cluster(self, now_ms: int) -> Cluster:
        config, store = self._broker.config, self._broker.store
        return {
            "name_server": self._name_server.address,
            "broker_name": config.broker_name,
            "broker_address": self._broker.address,
            "cluster_name": config.cluster_name,
            "version": version(),
            "started_us": unix_us(self._broker.where.started_ms),
            "now_us": unix_us(now_ms),
            "flush": store.config.flush_disk_type.value,
            "data_folder": self._data_folder,
        }

    def _commit_log(self) -> CommitLog:
        store = self._broker.store
        return {
            **log_offsets(store),
            "files": [
                {"name": file.path.rpartition("/")[2], "size_bytes": file.size_bytes, "start": file.start_offset}
                for file in store.commit_log.files.files[-20:]
            ],
            "file_count": len(store.commit_log.files.files),
            "damage": damage_view(store),
            "records": self._tail.look(),
        }
