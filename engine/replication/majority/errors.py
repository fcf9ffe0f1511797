"""What can go wrong with a broker of a group."""

from __future__ import annotations


class EntryRefused(Exception):
    """An entry that no member of this version writes."""


class NotOfThisGroup(Exception):
    """The folder holds messages that did not come through a group's log."""
