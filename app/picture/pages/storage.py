"""The storage laboratory: the files of both stores, their bytes, and what a search for a message reads."""

from __future__ import annotations

from typing import Literal, TypedDict

from app.foundation.json_types import JsonValue
from app.picture.pages.lab import ScenarioRow
from app.picture.record import RecordField

StoreName = Literal["rocketmq", "kafka"]


class FileOfStore(TypedDict):
    """A file, and what it takes of the disk: a hole takes nothing."""

    path: str
    format: str
    size_bytes: int
    #: How far it is written.
    used_bytes: int
    disk_bytes: int


class FileSizes(TypedDict):
    """Sizes of files that the page explains."""

    commit_log_bytes: int
    queue_entries: int
    queue_entry_bytes: int
    #: A text: it is part of a file's name.
    queue_file_bytes: str
    hash_slots: int
    segment_bytes: int
    index_interval_bytes: int


class StoredTraffic(TypedDict):
    """The messages of both stores: app/storage/laboratory/traffic.py."""

    topics: int
    #: Of each topic.
    queues: int
    messages: int
    body_bytes: int
    #: 0: messages have no key.
    distinct_keys: int
    codec: str
    batch_records: int


class StorageScenarios(TypedDict):
    """The scenarios of the lab that are about storage."""

    scenarios: list[ScenarioRow]


class BothStores(TypedDict):
    """A traffic and its files."""

    traffic: StoredTraffic
    #: By number of the traffic: the least and the greatest that are allowed.
    bounds: dict[str, list[int]]
    codecs: list[str]
    topics: list[str]
    time_step_ms: int
    sizes: FileSizes
    #: The kinds of measurements that can be started.
    runs: list[str]
    #: By StoreName.
    stores: dict[str, list[FileOfStore]]


class UnitOfFile(TypedDict):
    """A record, an entry or a batch; the page has the text of its kind, for its values."""

    kind: str
    start: int
    length: int
    values: dict[str, JsonValue]


class PageOfFile(TypedDict):
    """Units of a file, one after the other."""

    path: str
    format: str
    size_bytes: int
    #: The number of the first of ``units``.
    first: int
    unit_count: int
    units: list[UnitOfFile]
    #: Bytes with which other pages begin.
    previous_at: int | None
    next_at: int | None
    last_at: int


class BatchedRecord(TypedDict):
    """A record of a batch, decompressed."""

    offset: int
    time_us: int
    key: str | None
    value: str | None


class WholeUnit(UnitOfFile):
    """A unit to the byte."""

    fields: list[RecordField]
    hex: str
    hex_omitted_bytes: int
    contents: list[BatchedRecord]


class FoundRecord(TypedDict):
    """A message that a search found."""

    topic: str
    #: RocketMQ's queue, Kafka's partition.
    queue_id: int
    offset: int
    key: str | None
    stored_us: int


class SearchStep(TypedDict):
    """One access to the disk, and the unit that it read."""

    path: str
    position: int
    length: int
    #: Whether a disk had to seek for it, if nothing was in memory before.
    is_seek: bool
    kind: str
    values: dict[str, JsonValue]


class SearchCost(TypedDict):
    """What a search took."""

    seeks: int
    reads: int
    read_bytes: int
    files: int


class StoreSearch(TypedDict):
    """What a search in one store found, step by step."""

    found: list[FoundRecord]
    found_count: int
    steps: list[SearchStep]
    steps_omitted: int
    cost: SearchCost


class StorageRun(TypedDict):
    """The last measurement of a kind."""

    #: A word of MeasurementPhase in app/storage/runs/host.py.
    phase: str
    #: The step that it is at.
    number: int
    total: int
    #: That of the run before it, until it has ended; null before the first one.
    report: dict[str, JsonValue] | None
    error: str | None
