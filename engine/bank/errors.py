"""Errors of a bank. ``reason`` is a word for diagrams and counters, the message is for people."""

from __future__ import annotations


class BankError(Exception):
    """The base of all errors of a bank."""

    reason = "error"


class NotEnoughMoney(BankError):
    """SQLite's CHECK on the balance has refused the debit."""

    reason = "overdraft"


class NoSuchAccount(BankError):
    """The bank does not have the account."""

    reason = "no-account"


class TransferKnown(BankError):
    """A transfer with that key was debited before."""

    reason = "known"


class NotATransfer(BankError):
    """The body of a message is not a transfer."""

    reason = "no-transfer"


class CommitRefused(BankError):
    """The disk had no room for the commit: it was rolled back, and nothing has changed."""

    reason = "disk-full"


class CommitUncertain(BankError):
    """The disk failed in the middle of a commit. Only a new process can find out, by reading, what was written."""

    reason = "disk-failed"


class DatabaseClosed(BankError):
    """The process has closed its connection, or a disk fault has."""

    reason = "closed"


class DatabaseUnreadable(BankError):
    """The file exists, but it is not a database, or not a bank's, or needs other files next to it (WAL mode)."""

    reason = "unreadable"


class NotABankFolder(BankError):
    """The folder has the name of a bank's file, but other content."""

    reason = "folder"
