"""The address of a store in the form for errors and logs."""

from __future__ import annotations


def shown_address(address: str) -> str:
    """Return ``address`` without user, password and options; only its scheme if these cannot be separated from the
    rest.
    """
    scheme, _, rest = address.partition("://")
    secret, _, place = rest.rpartition("@")
    if "?" in secret or "#" in secret:
        return f"{scheme}://..."
    return f"{scheme}://{place.partition('?')[0].partition('#')[0]}"
