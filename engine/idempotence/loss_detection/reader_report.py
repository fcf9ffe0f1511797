"""What one reader has met: small, bounded, and to be put together with the reports of others.

A report outlives its reader as JSON in a file, and a reader that begins with its old report goes on where it was. It
says nothing of what other members of the group have met; :func:`~engine.idempotence.loss_detection.judge.judge` does,
given the reports of all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.idempotence.loss_detection.number_book import NumberBook, Sighting
from engine.idempotence.loss_detection.number_set import NumberSet
from engine.protocol.errors import MalformedBody
from engine.protocol.message.numbering_ledger import (
    PRODUCER_ID_PROPERTY,
    SEQUENCE_NUMBER_PROPERTY,
    NumberingLedger,
)

#: Producers, counted once per topic, and queues that a report has room for: some 120 MB at the very most, whatever
#: clients write. A healthy producer of a million messages takes 0.3 MB.
BOOKS_MAX = 256
QUEUES_MAX = 512
#: Chunks of 1,024 offsets that are kept of a queue.
QUEUE_CHUNKS_MAX = 256
#: A longer name is no name of a producer.
PRODUCER_ID_MAX = 512
_VERSION = 1


class ReportUnreadable(ValueError):
    """A text is no report, or one of another version."""


@dataclass(slots=True)
class QueueNote:
    """The offsets of a queue from which this reader was handed messages, numbered or not, the lowest of them, and where
    the queue is known to end.
    """

    lowest: int
    end: int = 0
    places: NumberSet = field(default_factory=NumberSet)


class ReaderReport:
    """See the module.

    :ivar queues: (topic, ``"broker:queue id"``) -> its note.
    :ivar books: (topic, producer) -> its book.
    :ivar without_numbers: messages that carry no number.
    :ivar no_room: messages of producers or queues beyond the bounds: nothing is said of them.
    """

    def __init__(self) -> None:
        self.queues: dict[tuple[str, str], QueueNote] = {}
        self.books: dict[tuple[str, str], NumberBook] = {}
        self.without_numbers = self.no_room = 0

    def note(
        self,
        topic: str,
        queue: str,
        offset: int,
        properties: Mapping[str, str],
        stored_ms: int,
        *,
        end: int = 0,
        is_retry: bool = False,
    ) -> Sighting | None:
        """One message.

        :param queue: ``"broker:queue id"``; where the message came from a retry topic, that queue does not count.
        :param end: where the queue ended when the message was read, if that is known.
        :return: None: it carries no number, or there is no room for it.
        """
        if not is_retry and not self.note_place(topic, queue, offset, end):
            return None
        producer, number = properties.get(PRODUCER_ID_PROPERTY, ""), properties.get(SEQUENCE_NUMBER_PROPERTY, "")
        # 18 digits always fit; what else stands there was not written by a numbering.
        if not producer or not (number.isascii() and number.isdigit() and len(number) <= 18):
            self.without_numbers += 1
            return None
        book = self._book(topic, producer)
        if book is None:
            self.no_room += 1
            return None
        return book.note(queue, offset, int(number), stored_ms, is_retry=is_retry)

    def note_place(self, topic: str, queue: str, offset: int, end: int = 0) -> bool:
        """A message was handed out from there, whatever becomes of it; whether there is room for the queue."""
        note = self.queues.get((topic, queue))
        if note is None:
            if len(self.queues) >= QUEUES_MAX:
                self.no_room += 1
                return False
            note = self.queues[topic, queue] = QueueNote(offset)
        note.places.add(offset)
        note.lowest = min(note.lowest, offset)
        note.end = max(note.end, end, offset + 1)
        if note.places.chunks > QUEUE_CHUNKS_MAX:
            note.places.forget_lowest()
        return True

    def note_queue(self, topic: str, queue: str, begin: int, end: int) -> None:
        """``topic`` has this queue with these offsets, whoever reads it: what this reader has not met is unseen."""
        if end > begin and (len(self.queues) < QUEUES_MAX or (topic, queue) in self.queues):
            note = self.queues.setdefault((topic, queue), QueueNote(begin))
            note.end = max(note.end, end)

    def _book(self, topic: str, producer: str) -> NumberBook | None:
        book = self.books.get((topic, producer))
        if book is None and len(self.books) < BOOKS_MAX and len(producer) <= PRODUCER_ID_MAX:
            book = self.books[topic, producer] = NumberBook()
        return book

    def add_ledger(self, ledger: NumberingLedger, stored_ms: int) -> None:
        """A producer has ended."""
        book = self._book(ledger.topic, ledger.producer_id)
        if book is not None:
            book.close(ledger, stored_ms)

    def encode(self) -> bytes:
        """As it is kept: JSON."""
        fields = {
            "version": _VERSION,
            "withoutNumbers": self.without_numbers,
            "noRoom": self.no_room,
            "queues": [[*key, note.lowest, note.end, note.places.encode()] for key, note in self.queues.items()],
            "books": [[*key, book.encode()] for key, book in self.books.items()],
        }
        return json.dumps(fields, separators=(",", ":")).encode()

    @classmethod
    def decode(cls, body: bytes) -> ReaderReport:
        """What :meth:`encode` made. Raises :class:`ReportUnreadable`."""
        try:
            fields = json.loads(body)
            if fields["version"] != _VERSION:
                raise ValueError(f"version {fields['version']!r}, this program reads version {_VERSION}")
            made = cls()
            made.without_numbers, made.no_room = int(fields["withoutNumbers"]), int(fields["noRoom"])
            for topic, queue, lowest, end, places in fields["queues"]:
                made.queues[topic, queue] = QueueNote(int(lowest), int(end), NumberSet.decode(places))
            for topic, producer, book in fields["books"]:
                made.books[topic, producer] = NumberBook.decode(book)
        except (
            ValueError,
            LookupError,
            TypeError,
            AttributeError,
            ArithmeticError,
            RecursionError,
            MalformedBody,
        ) as error:
            raise ReportUnreadable(f"no report of a loss detector: {error!r}") from error
        return made
