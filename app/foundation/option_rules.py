"""Relations of the options of a command, as a table that one function checks.

Options are named as users write them: ``--sql``; ``MESSAGE_ID``, an argument; ``--tls-mode enforcing``, an option with
that value.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar

import click
from click.core import ParameterSource

_F = TypeVar("_F", bound=Callable[..., Any])


class OptionRule(ABC):
    """A relation of options.

    :param reason: why, where it is not plain.
    :ivar counts_defaults: an option that is given the value of its default counts as given.
    """

    counts_defaults = False

    def __init__(self, *options: str, reason: str = "") -> None:
        self.options = options
        self.first, *self.others = options
        self._why = f": {reason}" if reason else ""

    def refusal(self, given: Mapping[str, object]) -> str | None:
        """Return what is wrong and what is allowed; None if options that are ``given`` these values keep the rule."""
        parts = ((option, *option.partition(" ")[::2]) for option in self.options)
        found = [option for option, name, value in parts if name in given and value in ("", str(given[name]))]
        problem, allowed = self._problem(found, given) or ("", "")
        return f"{problem}{self._why}{allowed and f'; allowed{allowed}'}" if problem else None

    @abstractmethod
    def _problem(self, found: list[str], given: Mapping[str, object]) -> tuple[str, str] | None:
        """Return what is wrong, and what is allowed, when ``found`` are those of the options that are given."""


class Together(OptionRule):
    """All of the options or none."""

    def _problem(self, found: list[str], given: Mapping[str, object]) -> tuple[str, str] | None:
        is_kept = len(found) in (0, len(self.options))
        return None if is_kept else (f"{_all(self.options)} go together", ": all of them or none")


class OneOf(OptionRule):
    """Exactly one of the options."""

    def _problem(self, found: list[str], given: Mapping[str, object]) -> tuple[str, str] | None:
        problem = f"{_all(found)} exclude each other" if found else "a choice is missing"
        return None if len(found) == 1 else (problem, f": exactly one of {', '.join(self.options)}")


class Excludes(OptionRule):
    """The first option without any of the others."""

    def _problem(self, found: list[str], given: Mapping[str, object]) -> tuple[str, str] | None:
        if self.first not in found or len(found) == 1:
            return None
        return f"{self.first} excludes {_all(found[1:])}", f": {self.first} without {', '.join(self.others)}"


class Needs(OptionRule):
    """The first option only with all of the others."""

    def _problem(self, found: list[str], given: Mapping[str, object]) -> tuple[str, str] | None:
        is_kept = self.first not in found or len(found) == len(self.options)
        return None if is_kept else (f"{self.first} needs {_all(self.others)}", "")


class OnlyWith(OptionRule):
    """The first option, a switch or a text, with none but the others."""

    counts_defaults = True

    def _problem(self, found: list[str], given: Mapping[str, object]) -> tuple[str, str] | None:
        wrong = [option for option in given if option not in self.options]
        is_kept = not wrong or not given.get(self.first)
        return None if is_kept else (f"{self.first} excludes {_all(wrong)}", f" with it: {', '.join(self.others)}")


def option_rules(*rules: OptionRule) -> Callable[[_F], _F]:
    """Check the rules before the command runs. Raises ``click.UsageError`` for the first that is not kept."""

    def with_rules(function: _F) -> _F:
        @wraps(function)
        def checked(*arguments: Any, **options: Any) -> Any:
            _check(click.get_current_context(), rules)
            return function(*arguments, **options)

        checked.__dict__["option_rules"] = (*rules, *rules_of(function))
        return checked  # type: ignore[return-value]  # it takes what the function takes

    return with_rules


def rules_of(function: object) -> tuple[OptionRule, ...]:
    """Return the rules of the function of a command."""
    found: tuple[OptionRule, ...] = getattr(function, "option_rules", ())
    return found


def label(parameter: click.Parameter) -> str:
    """Return the name of an option or argument as rules and messages write it."""
    return parameter.human_readable_name if isinstance(parameter, click.Argument) else max(parameter.opts, key=len)


def _check(context: click.Context, rules: Sequence[OptionRule]) -> None:
    typed, changed = {}, {}
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        value = context.params.get(parameter.name or "", True)  # the command may not see it
        if value == ():  # no arguments: until click 8.2 they count as typed
            continue
        if source is ParameterSource.COMMANDLINE:
            typed[label(parameter)] = value
        if source is not ParameterSource.DEFAULT and value != parameter.default:
            changed[label(parameter)] = value
    for rule in rules:
        refusal = rule.refusal(typed if rule.counts_defaults else changed)
        if refusal is not None:
            raise click.UsageError(refusal)


def _all(options: Sequence[str]) -> str:
    """Return ``a, b and c``."""
    *first, last = options
    return f"{', '.join(first)} and {last}" if first else last
