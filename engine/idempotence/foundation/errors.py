"""What can go wrong between a message and its work. In each case the message comes again: nothing is lost."""

from __future__ import annotations


class IdempotenceError(Exception):
    """Base of all of them."""


class KeyUnusable(IdempotenceError):
    """The message has no business key, or one that no store can take; the text says which is allowed."""


class StoreUnreachable(IdempotenceError):
    """The store did not answer, or not in time. Whether it did what was asked is not known."""


class UniqueViolation(IdempotenceError):
    """A constraint of the database has refused the statement; nothing was written by it."""


class TransactionLost(IdempotenceError):
    """The database has rolled the transaction back: a deadlock, a serialization failure, a session that ended."""


class SchemaOutdated(IdempotenceError):
    """The store holds tables of another version of GlassMQ, or foreign ones of the same name."""


class UnknownStrategy(IdempotenceError):
    """No strategy has that name, or it cannot work with that store."""


class DifferentBody(IdempotenceError):
    """The key was used before, by a message with another body: the producer's keys are not unique."""


class ComeAgainLater(IdempotenceError):
    """Raised by the work, or around it: the message shall be delivered again."""


class AlreadyDone(IdempotenceError):
    """Raised by the work: its own condition says that there is nothing left to do. The message is acknowledged."""
