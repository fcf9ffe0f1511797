"""A report of what one reader has seen: small, bounded, and combined with the reports of others.

A report outlives its reader as JSON in a file, and a reader that starts with its old report continues it. It says
nothing about what other members of the group have seen; :func:`~engine.idempotence.loss_detection.judge.judge` does,
given the reports of all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.idempotence.loss_detection.number_book import NumberBook, Sighting
from engine.protocol.errors import MalformedBody
from engine.protocol.message.numbering_ledger import (
    PRODUCER_ID_PROPERTY,
    SEQUENCE_NUMBER_PROPERTY,
    NumberingLedger,
)
from engine.protocol.number_set import NumberSet

#: Most producers (counted once per topic) and most queues in a report: some 120 MB at the very most, whatever clients
#: write. A healthy producer of a million messages takes 0.3 MB.
BOOKS_MAX = 256
QUEUES_MAX = 512
#: Most chunks of 1,024 offsets that are kept for a queue.
QUEUE_CHUNKS_MAX = 256
#: Longest name of a producer; a longer one is ignored.
PRODUCER_ID_MAX = 512
_VERSION = 1


class ReportUnreadable(ValueError):
    """A text is not a report, or one of another version."""


@dataclass(slots=True)
class QueueNote:
    """The offsets of a queue at which this reader received messages, numbered or not, the lowest of them, and the known
    end of the queue.
    """

    lowest: int
    end: int = 0
    places: NumberSet = field(default_factory=NumberSet)


class ReaderReport:
    """The message numbers that one reader has received, by topic.

    :ivar queues: (topic, ``"broker:queue id"``) -> its note.
    :ivar books: (topic, producer) -> its book.
    :ivar without_numbers: messages that carry no number.
    :ivar no_room: messages of producers or queues beyond the bounds, which are not evaluated.
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
        """Note one message.

        :param queue: ``"broker:queue id"``; ignored if the message came from a retry topic.
        :param end: where the queue ended when the message was read, if that is known.
        :return: None if it carries no number or there is no room for it.
        """
        if not is_retry and not self.note_place(topic, queue, offset, end):
            return None
        producer, number = properties.get(PRODUCER_ID_PROPERTY, ""), properties.get(SEQUENCE_NUMBER_PROPERTY, "")
        # 18 digits always fit; anything else was not written by the numbering.
        if not producer or not (number.isascii() and number.isdigit() and len(number) <= 18):
            self.without_numbers += 1
            return None
        book = self._book(topic, producer)
        if book is None:
            self.no_room += 1
            return None
        return book.note(queue, offset, int(number), stored_ms, is_retry=is_retry)

    def note_place(self, topic: str, queue: str, offset: int, end: int = 0) -> bool:
        """Note that a message was delivered from a place, whatever becomes of it. Return whether there is room for the
        queue.
        """
        note = self.queues.get((topic, queue))
        if note is None:
            if len(self.queues) >= QUEUES_MAX:
                self.no_room += 1
                return False
            note = self.queues[topic, queue] = QueueNote(offset)
        note.places.add(offset)
        note.lowest = min(note.lowest, offset)
        note.end = max(note.end, end, offset + 1)
        if len(note.places.chunks) > QUEUE_CHUNKS_MAX:
            note.places.forget_lowest()
        return True

    def note_queue(self, topic: str, queue: str, begin: int, end: int) -> None:
        """Note that ``topic`` has this queue with these offsets: those that this reader has not seen are unseen."""
        if end > begin and (len(self.queues) < QUEUES_MAX or (topic, queue) in self.queues):
            note = self.queues.setdefault((topic, queue), QueueNote(begin))
            note.end = max(note.end, end)

    def _book(self, topic: str, producer: str) -> NumberBook | None:
        book = self.books.get((topic, producer))
        if book is None and len(self.books) < BOOKS_MAX and len(producer) <= PRODUCER_ID_MAX:
            book = self.books[topic, producer] = NumberBook()
        return book

    def add_ledger(self, ledger: NumberingLedger, stored_ms: int) -> None:
        """Note the ledger of a producer that has ended."""
        book = self._book(ledger.topic, ledger.producer_id)
        if book is not None:
            book.close(ledger, stored_ms)

    def encode(self) -> bytes:
        """Encode the report as it is saved: JSON."""
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
        """Decode what :meth:`encode` returned. Raises :class:`ReportUnreadable`."""
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
            raise ReportUnreadable(f"not a report of a loss detector: {error!r}") from error
        return made
