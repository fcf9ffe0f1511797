"""What can go wrong in a bank. ``reason`` is a word for pictures and counters, the message is for people."""

from __future__ import annotations


class BankError(Exception):
    """Base of all of them."""

    reason = "error"


class NotEnoughMoney(BankError):
    """SQLite's CHECK on the balance has refused the debit."""

    reason = "overdraft"


class NoSuchAccount(BankError):
    """The bank does not have the account."""

    reason = "no-account"


class TransferKnown(BankError):
    """A transfer of that key was debited before."""

    reason = "known"


class NotATransfer(BankError):
    """The body of a message does not say a transfer."""

    reason = "no-transfer"


class CommitRefused(BankError):
    """The disk had no room for the commit: it was rolled back, and nothing has changed."""

    reason = "disk-full"


class CommitUncertain(BankError):
    """The disk failed in the middle of a commit. What it holds now only a new process can tell, by reading it."""

    reason = "disk-failed"


class DatabaseClosed(BankError):
    """The process has ended its connection, or a failing disk has."""

    reason = "closed"


class DatabaseUnreadable(BankError):
    """The file is there, but it is no database, not that of a bank, or needs other files beside it (WAL mode)."""

    reason = "unreadable"


class NotABankFolder(BankError):
    """The folder has the name of a bank's file, with something else in it."""

    reason = "folder"
