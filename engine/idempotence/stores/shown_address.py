"""The address of a store as errors and logs may hold it."""

from __future__ import annotations


def shown_address(address: str) -> str:
    """``address`` without user, password and options; where those cannot be told from the rest, its scheme only."""
    scheme, _, rest = address.partition("://")
    secret, _, place = rest.rpartition("@")
    if "?" in secret or "#" in secret:
        return f"{scheme}://..."
    return f"{scheme}://{place.partition('?')[0].partition('#')[0]}"
