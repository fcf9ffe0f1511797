"""Keeps the parts of the state that did not change as the same objects from one state to the next.

The comparison of two states then stops at them immediately, instead of comparing every number in them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

#: What one view is.
View = TypeVar("View", bound=Mapping[str, object])


class Unchanged(Generic[View]):
    """Keeps one section of the state: views by name, all built by the same code, hence with equal types."""

    def __init__(self) -> None:
        self._last: dict[str, View] = {}

    def reuse(self, views: dict[str, View]) -> dict[str, View]:
        """Return ``views`` with every view that equals its predecessor replaced by it; the whole predecessor if all are
        equal.
        """
        last = self._last
        if views == last:
            return last
        for name, view in views.items():
            before = last.get(name)
            if before is not None and before == view:
                views[name] = before
        self._last = views
        return views
