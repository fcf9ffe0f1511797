"""The options that locate the page of a running broker, and one request to its HTTP API."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

from app.foundation.option_types import by_field, text_field
from engine.texts import LANGUAGES

#: A killed broker that is started again checks its log before it answers.
_TIMEOUT_S = 65.0
_PAGE = re.compile("https?:", re.IGNORECASE)
#: The request was understood but is refused: a field is invalid, something is not allowed, or not at this moment.
_REFUSED = (400, 403, 409)

_F = TypeVar("_F", bound=Callable[..., Any])


class NotAsked(click.ClickException):
    """The page cannot be reached. The exit code distinguishes this from an answer of the page."""

    exit_code = 2


class Page:
    """A page, as the options name it.

    :ivar lang: the language of the output.
    """

    def __init__(self, address: str, token: str | None, lang: str) -> None:
        self.address = address
        self.lang = lang
        self._token = token

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Send a request and return the JSON of the answer.

        A refusal ends the command with the page's own text. Raises :class:`NotAsked`.
        """
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.address.rstrip('/')}{path}", data, method=method)
        request.add_header("Content-Type", "application/json")
        if self._token is not None:
            request.add_header("Authorization", f"Bearer {self._token}")
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                said = _said(error, self.lang)
                if error.code in _REFUSED and said is not None:
                    raise click.ClickException(said) from None
            answered = f"it answers {error.code}: {said or error.reason}"
            problem = "it needs a token: --token" if error.code == 401 else answered
        except (OSError, ValueError) as error:
            problem = f"{getattr(error, 'reason', error)}. Is `glassmq serve` running there?"
        raise self.not_asked(problem)

    def not_asked(self, problem: str) -> NotAsked:
        """Return the exception for a page that cannot be reached, to be raised."""
        return NotAsked(f"cannot query {self.address}: {problem}")


def _said(error: urllib.error.HTTPError, lang: str) -> str | None:
    """Return the reason of a refusal; None when the answer is not from a page of GlassMQ."""
    try:
        answer = json.load(error)
        return str(answer.get("text", {}).get(lang) or answer["error"])
    except (ValueError, KeyError, AttributeError, OSError):
        return None


def page_options(function: _F) -> _F:
    """Add the options ``--page``, ``--token`` and ``--lang``, which the command receives as ``page``: a
    :class:`Page`.
    """

    @click.option(
        "--page",
        "address",
        type=by_field(text_field("text", _PAGE.match, "the address of a page, such as http://127.0.0.1:8000")),
        default="http://127.0.0.1:8000",
        show_default=True,
        envvar="GLASSMQ_PAGE",
        help="Address of the broker's page. Also from GLASSMQ_PAGE.",
    )
    @click.option("--token", envvar="GLASSMQ_TOKEN", help="The --token of glassmq serve. Also from GLASSMQ_TOKEN.")
    @click.option("--lang", type=click.Choice(LANGUAGES), default=LANGUAGES[0], show_default=True, help="Language.")
    @wraps(function)
    def with_page(*arguments: Any, address: str, token: str | None, lang: str, **options: Any) -> Any:
        return function(*arguments, page=Page(address, token, lang), **options)

    return with_page  # type: ignore[return-value]  # click calls it with the options, whatever the function takes
