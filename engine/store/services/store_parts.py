"""The parts of one store, for code that works on several of them (RocketMQ: the fields of ``DefaultMessageStore``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from engine.runtime.port import Clock, Disk, DiskFault
from engine.store.files.config_file import ConfigFile
from engine.store.files.deleted_topics import DeletedTopics
from engine.store.files.mapping_pool import MappingPool
from engine.store.files.recovery_point import PATH as RECOVERY_POINT_PATH
from engine.store.files.running_flags import RunningFlags
from engine.store.files.store_config import MessageStoreConfig
from engine.store.log.commit_log import CommitLog
from engine.store.queues.consume_queue_table import ConsumeQueueTable
from engine.store.queues.index_service import IndexService
from engine.store.services.message_dispatcher import MessageDispatcher


@dataclass(slots=True)
class StoreParts:
    """The files of a store and their writers. ``index``: None unless ``message_index_enable`` is set."""

    config: MessageStoreConfig
    disk: Disk
    clock: Clock
    commit_log: CommitLog
    consume_queues: ConsumeQueueTable
    index: IndexService | None
    dispatcher: MessageDispatcher
    recovery_point_file: ConfigFile
    deleted_topics: DeletedTopics
    flags: RunningFlags = field(default_factory=RunningFlags)

    @classmethod
    def make(
        cls, disk: Disk, clock: Clock, config: MessageStoreConfig, on_dispatch_fault: Callable[[DiskFault | None], None]
    ) -> StoreParts:
        """Create the parts of a store on ``disk``; nothing is read yet."""
        pool = MappingPool(config.max_mapped_files)
        ext_file_size = config.mapped_file_size_consume_queue_ext if config.enable_consume_queue_ext else None
        table = ConsumeQueueTable(disk, pool, config.mapped_file_size_consume_queue, ext_file_size)
        index = None
        if config.message_index_enable:
            index = IndexService(disk, pool, clock, config.max_hash_slot_num, config.max_index_num)
        return cls(
            config,
            disk,
            clock,
            CommitLog(disk, pool, clock, config, table),
            table,
            index,
            MessageDispatcher(table, index, on_dispatch_fault),
            ConfigFile(disk, RECOVERY_POINT_PATH),
            DeletedTopics(disk),
        )

    def close(self) -> None:
        """Unmap all files; they are mapped again when they are used."""
        self.consume_queues.close()
        if self.index is not None:
            self.index.close()
        self.commit_log.files.close()
