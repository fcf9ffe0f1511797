"""A stored message: in one line, or every field with its bytes."""

from __future__ import annotations

from typing import TypedDict


class StoredRecord(TypedDict):
    """A record of the commit log."""

    #: In the commit log.
    offset: int
    size_bytes: int
    topic: str
    queue_id: int
    queue_offset: int
    #: By the broker's clock, which in a lab may have been set ahead or back.
    stored_us: int
    tags: str | None
    #: The first characters of the body.
    body_preview: str
    reconsume_times: int


class RecordSummary(StoredRecord):
    """One line about a record of the commit log."""

    #: By the producer's clock.
    born_us: int
    born_host: str
    keys: list[str]
    #: Made by the client; None without one.
    unique_id: str | None
    #: Address of the broker and commit-log offset.
    offset_message_id: str
    #: As stored: compressed where it is.
    body_bytes: int
    sys_flag: int
    properties_bytes: int


class FoundMessages(TypedDict):
    """The messages that a search has found."""

    messages: list[RecordSummary]


class MessagePage(TypedDict):
    """Messages of a topic that were stored within a span of time, the newest first."""

    messages: list[RecordSummary]
    #: Messages in the whole span, as far as they are not expired.
    count: int
    #: Where the next page ends, as ``queue:offset``; None: this is the last page.
    before: list[str] | None
    #: Queues that were not searched because there are too many.
    omitted_queues: int


class FieldText(TypedDict):
    """Name and explanation of a field; in English it has the name of RocketMQ's source."""

    name: str
    #: None: the same.
    name_zh: str | None
    explanation: str
    explanation_zh: str


class FieldBytes(TypedDict):
    """Where a field is, and what it says."""

    #: Position in the record.
    start: int
    #: In bytes.
    length: int
    #: A text also for numbers: a browser's are exact to 2**53 only.
    value: str


class RecordField(FieldText, FieldBytes):
    """A field with its bytes."""


class BareField(FieldBytes):
    """A field without what is the same in all records."""

    name: str


class RecordParts(TypedDict):
    """Everything about one record but its fields."""

    record: RecordSummary
    properties: dict[str, str]
    crc_matches: bool
    #: None when the body is not text.
    body_text: str | None
    #: The beginning of the body, decompressed.
    body_hex: str
    #: Of the whole body, decompressed.
    body_bytes: int
    #: Why it cannot be decompressed.
    body_problem: str | None
    #: The beginning of the record.
    hex: str
    hex_omitted_bytes: int


class RecordView(RecordParts):
    """Everything about one record."""

    #: In their order, without gaps.
    fields: list[RecordField]


class BareRecordView(RecordParts):
    """The same, without the texts that are the same in all records."""

    fields: list[BareField]


class QueueEntryView(TypedDict):
    """One entry of a consume queue: its 20 bytes and three fields."""

    #: In the commit log.
    offset: int
    size_bytes: int
    tags_code: str
    hex: str
    fields: list[RecordField]


class QueueEntries(TypedDict):
    """Entries of a consume queue, one after the other."""

    #: Number of the first one.
    start: int
    entries: list[QueueEntryView]
