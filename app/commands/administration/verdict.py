"""``glassmq verdict``: how a running broker is, in words; for people, for cron and for a pipeline's last step."""

from __future__ import annotations

import click

from app.commands.administration.page_access import Page, page_options


@click.command("verdict")
@page_options
def command(page: Page) -> None:
    """Say what is not well at a running broker: who falls behind, which queue nobody pulls, what is undecided.

    It is the first line of the live page, where the rules' thresholds are set. The exit code is 0 when all is well, 1
    when something is not, and 2 when the broker cannot be asked.

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
        raise page.not_asked("that is no page of glassmq") from None
    for line in lines or [calm]:
        click.echo(line)
    if lines:
        raise click.exceptions.Exit(1)
