"""``glassmq verdict``: the health of a running broker in words, for people, for cron and for the last step of a
pipeline.
"""

from __future__ import annotations

import click

from app.commands.administration.page_access import Page, page_options


@click.command("verdict")
@page_options
def command(page: Page) -> None:
    """Report the problems of a running broker: groups that lag, queues without consumers, undecided half messages.

    It is the first line of the live page, where the rules' thresholds are set. The exit code is 0 when all is well, 1
    when there is a problem, and 2 when the broker cannot be reached.

    \b
    Examples:
      glassmq verdict
      glassmq verdict --page http://broker-7:8000 --token secret
    """
    found = page.ask("GET", "/api/live/verdict")  # see app/watch/verdict.py
    try:
        lines = [clause["text"][page.lang] for clause in found["clauses"]]
        calm = found["text"][page.lang]
    except (KeyError, TypeError):
        raise page.not_asked("that is not a page of glassmq") from None
    for line in lines or [calm]:
        click.echo(line)
    if lines:
        raise click.exceptions.Exit(1)
