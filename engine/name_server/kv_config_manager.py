"""Key-value configuration: small texts that tools store at the name server (RocketMQ: ``KVConfigManager``,
``KVConfigSerializeWrapper``).

A text has a namespace and a key. RocketMQ itself uses one namespace: ORDER_TOPIC_CONFIG, topic -> the number of queues
at each broker ("broker-a:4;broker-b:4"), for topics whose order must survive the failure of a broker.

Every change is in ``config/kvConfig.json`` before it takes effect and is answered, one after the other. Name servers do
not exchange texts: mqadmin sends a text to each of them. A name server without a data folder keeps the texts in memory.
"""

from __future__ import annotations

import asyncio
import logging

from engine.name_server.errors import KVConfigRefused
from engine.runtime.port import Disk, DiskFault
from engine.store.files.config_file import ConfigFile

logger = logging.getLogger("glassmq.name_server")

#: ``NamesrvUtil.NAMESPACE_ORDER_TOPIC_CONFIG``.
ORDER_TOPIC_NAMESPACE = "ORDER_TOPIC_CONFIG"
PATH = "config/kvConfig.json"

_NAME_MAX_LENGTH = 255
_VALUE_MAX_LENGTH = 32_768


class KVConfigManager:
    """A table: namespace -> key -> value.

    :param disk: the name server's files.
    :param max_entries: bound of all entries and namespaces together.
    """

    def __init__(self, disk: Disk, max_entries: int = 10_000) -> None:
        self._file = ConfigFile(disk, PATH)
        self._max_entries = max_entries
        self._table: dict[str, dict[str, str]] = {}
        self._is_persistent = True
        self._changing = asyncio.Lock()

    async def put(self, namespace: str, key: str, value: str) -> None:
        """Store a text. Raises :class:`KVConfigRefused` without any effect."""
        for what, text in (("namespace", namespace), ("key", key)):
            if not text.strip() or len(text) > _NAME_MAX_LENGTH:
                raise KVConfigRefused(f"the {what} must have 1 to {_NAME_MAX_LENGTH} characters, got {len(text)}")
        if len(value) > _VALUE_MAX_LENGTH:
            raise KVConfigRefused(f"the value has {len(value)} characters; allowed: {_VALUE_MAX_LENGTH}")
        async with self._changing:
            entries = self._table.get(namespace, {})
            if key not in entries and self._size() + 1 + (namespace not in self._table) > self._max_entries:
                raise KVConfigRefused(f"this name server keeps {self._max_entries} entries and namespaces")
            await self._replace(namespace, entries | {key: value})
        logger.info("key-value configuration: %s of %s is %s", key, namespace, value)

    def get(self, namespace: str, key: str) -> str | None:
        """Return the text, or None."""
        return self._table.get(namespace, {}).get(key)

    async def delete(self, namespace: str, key: str) -> None:
        """Delete the text, if it exists. The namespace stays. Raises :class:`KVConfigRefused`."""
        async with self._changing:
            entries = self._table.get(namespace)
            if entries is None or key not in entries:
                return
            await self._replace(namespace, {known: value for known, value in entries.items() if known != key})
        logger.info("key-value configuration: %s of %s is deleted", key, namespace)

    def namespace(self, namespace: str) -> dict[str, str] | None:
        """Return all texts of ``namespace``; None if nothing was ever stored there."""
        entries = self._table.get(namespace)
        return None if entries is None else dict(entries)

    def _size(self) -> int:
        return len(self._table) + sum(len(entries) for entries in self._table.values())

    async def _replace(self, namespace: str, entries: dict[str, str]) -> None:
        table = self._table | {namespace: entries}
        if self._is_persistent:
            try:
                await self._file.save_off_loop(lambda: {"configTable": table})
            except DiskFault as fault:
                raise KVConfigRefused(f"the configuration could not be saved: {fault}") from fault
        self._table = table

    def load(self) -> None:
        """Read ``kvConfig.json`` or its backup; invalid texts are left out with a warning."""
        try:
            content = self._file.load()
        except DiskFault as fault:
            self._is_persistent = False
            logger.info("key-value configuration is kept in memory only: %s", fault)
            return
        table = content.get("configTable") if content is not None else None
        for namespace, entries in table.items() if isinstance(table, dict) else ():
            known = self._table.setdefault(namespace, {})
            for key, value in entries.items() if isinstance(entries, dict) else ():
                if isinstance(value, str):
                    known[key] = value
                else:
                    logger.warning("%s: %s of %s is left out: it is not a string", PATH, key, namespace)
