"""A command that lists and has subcommands: ``glassmq topics``, ``glassmq topics orders``, ``glassmq topics delete
orders``.
"""

from __future__ import annotations

import click


class ListingGroup(click.Group):
    """A group whose subcommand ``list`` is the default.

    A topic or a group that is named like a subcommand is listed by writing ``list`` in front of its name.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does, with ``list`` put before arguments that start with no subcommand."""
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)
