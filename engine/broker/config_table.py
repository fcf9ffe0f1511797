"""What the tables of topics and of groups have in common (RocketMQ: ``ConfigManager``)."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from engine.broker.errors import ConfigNotSaved
from engine.protocol.data_version import DataVersion
from engine.protocol.errors import MalformedBody
from engine.protocol.json_fields import get_object
from engine.runtime.port import DiskFault

logger = logging.getLogger("glassmq.broker")

_Entry = TypeVar("_Entry")


@contextmanager
def undone_unless_saved(table: dict[str, _Entry], name: str, *, counts_anyway: bool = False) -> Iterator[None]:
    """Change ``table[name]`` and save inside; a disk that fails leaves the entry as it was.

    Raises :class:`ConfigNotSaved`. RocketMQ logs the failure and goes on with what the next start will not know; so it
    is here with ``counts_anyway``, for what a reader needs and is made again as it was made: reading goes on where
    nothing can be written.
    """
    before = table.get(name)
    try:
        yield
    except DiskFault as fault:
        if counts_anyway:
            logger.warning("%s is not saved before the next change of its table: %s", name, fault)
            return
        if before is None:
            table.pop(name, None)
        else:
            table[name] = before
        raise ConfigNotSaved(f"{name} could not be saved: {fault}") from fault


def read_data_version(content: Mapping[str, Any], default: DataVersion) -> DataVersion:
    """The version in a configuration file; ``default`` when there is none that can be read."""
    try:
        version = get_object(content, "dataVersion")
        return DataVersion.from_dict(version) if version else default
    except MalformedBody:
        return default
