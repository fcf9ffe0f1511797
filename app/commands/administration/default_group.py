"""A command that lists and has further commands: ``glassmq topics``, ``glassmq topics orders``, ``glassmq topics delete
orders``.
"""

from __future__ import annotations

from typing import Any

import click

_HELP = ("-h", "--help")


class ListingGroup(click.Group):
    """A group whose command ``list`` is meant where none is named.

    Who has a topic or a group called like one of the commands writes the ``list``.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        settings = {"help_option_names": list(_HELP)} | (options.pop("context_settings", None) or {})
        super().__init__(*arguments, context_settings=settings, **options)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click's, with ``list`` put in front of what names no command."""
        if not args or (args[0] not in self.commands and args[0] not in _HELP):
            args = ["list", *args]
        return super().parse_args(ctx, args)
