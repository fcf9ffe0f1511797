"""Errors of a broker in a group."""

from __future__ import annotations


class EntryRefused(Exception):
    """An entry has a form that no member of this version writes."""


class NotOfThisGroup(Exception):
    """The folder holds messages that did not come through the log of a group."""
