"""Errors between a message and its work. In each case the message is delivered again: nothing is lost."""

from __future__ import annotations


class IdempotenceError(Exception):
    """Base of all errors of idempotence."""


class KeyUnusable(IdempotenceError):
    """The message has no business key, or one that no store accepts; the text says what is allowed."""


class StoreUnreachable(IdempotenceError):
    """The store did not answer, or not in time. It is unknown whether it carried out the request."""


class UniqueViolation(IdempotenceError):
    """A constraint of the database has refused the statement; the statement has written nothing."""


class TransactionLost(IdempotenceError):
    """The database has rolled back the transaction: a deadlock, a serialization failure, a lost session."""


class SchemaOutdated(IdempotenceError):
    """The store holds tables of another version of GlassMQ, or other tables with the same names."""


class UnknownStrategy(IdempotenceError):
    """No strategy has this name, or it cannot work with this store."""


class ComeAgainLater(IdempotenceError):
    """Raised by the work or around it: the message must be delivered again."""


class AlreadyDone(IdempotenceError):
    """Raised by the work: its own condition shows that there is nothing left to do. The message is acknowledged."""
