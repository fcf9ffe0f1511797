"""Each rule over options refuses exactly the combinations that it is about, and names what is allowed."""

import importlib

import click
import pytest
from click.core import ParameterSource
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from app.command_line import EXPECTED, main
from app.foundation.option_rules import Excludes, Needs, OneOf, OnlyWith, Together, label, option_rules, rules_of

OPTIONS = ("--one", "--two", "--three", "--four")
subsets = st.sets(st.sampled_from(OPTIONS)).map(lambda names: dict.fromkeys(sorted(names), 1))
some = st.lists(st.sampled_from(OPTIONS), min_size=2, unique=True)


def names_all(refusal, options):
    return all(option in refusal for option in options)


@given(some, subsets)
def test_options_that_go_together_are_refused_when_some_are_missing(options, found):
    refusal = Together(*options, reason="why").refusal(found)
    there = set(options) & set(found)
    assert (refusal is None) == (there in (set(), set(options)))
    assert refusal is None or (names_all(refusal, options) and ": why; allowed: all of them or none" in refusal)


@given(some, subsets)
def test_of_a_choice_exactly_one_is_kept(options, found):
    refusal = OneOf(*options, reason="why").refusal(found)
    assert (refusal is None) == (len(set(options) & set(found)) == 1)
    assert refusal is None or refusal.endswith(f": why; allowed: exactly one of {', '.join(options)}")


@given(some, subsets)
def test_an_option_that_excludes_others_is_refused_with_any_of_them(options, found):
    first, *others = options
    refusal = Excludes(*options, reason="why").refusal(found)
    wrong = [option for option in others if option in found]
    assert (refusal is None) == (first not in found or not wrong)
    if refusal is not None:
        problem, _, allowed = refusal.partition("; allowed: ")
        assert problem.startswith(f"{first} excludes ") and problem.endswith(": why")
        assert {option for option in OPTIONS if option in problem} == {first, *wrong}
        assert allowed == f"{first} without {', '.join(others)}"


@given(some, subsets)
def test_an_option_that_needs_others_is_refused_without_all_of_them(options, found):
    first, *others = options
    refusal = Needs(*options, reason="why").refusal(found)
    assert (refusal is None) == (first not in found or set(others) <= set(found))
    assert refusal is None or (refusal.startswith(f"{first} needs ") and names_all(refusal, others))
    assert refusal is None or refusal.endswith(": why")


@given(some, subsets)
def test_an_option_with_few_companions_is_refused_with_any_other(options, found):
    first, *others = options
    refusal = OnlyWith(*options, reason="why").refusal(found)
    wrong = set(found) - set(options)
    assert (refusal is None) == (first not in found or not wrong)
    assert refusal is None or (names_all(refusal, wrong) and refusal.endswith(f"allowed with it: {', '.join(others)}"))


@given(st.sampled_from(["soft", "hard"]), st.booleans())
def test_a_rule_may_be_about_one_value_of_an_option(mode, has_key):
    found = {"--mode": mode, **({"--key": "k"} if has_key else {})}
    assert (Needs("--mode hard", "--key").refusal(found) is None) == (mode == "soft" or has_key)
    assert (Needs("--key", "--mode hard").refusal(found) is None) == (mode == "hard" or not has_key)


@click.command()
@click.argument("names", nargs=-1)
@click.option("-m", "--mode", default="soft", envvar="TEST_MODE")
@click.option("--level", type=int, default=1)
@click.option("--hidden", expose_value=False)
@click.option("--all/--some", "everything", default=False)
@option_rules(OneOf("NAMES", "--all"), Excludes("--mode", "--level"))
@option_rules(OnlyWith("--all", "--mode"), Needs("--hidden", "NAMES"))
def command(names, mode, level, everything):
    click.echo("done")


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        (["a"], None),
        (["a", "--mode", "soft", "--level", "2"], None),
        (["a", "--some", "--hidden", "x"], None),
        (["--all"], None),
        ([], "a choice is missing; allowed: exactly one of NAMES, --all"),
        (["a", "--all"], "NAMES and --all exclude each other; allowed: exactly one of NAMES, --all"),
        (["a", "-m", "hard", "--level", "0"], "--mode excludes --level; allowed: --mode without --level"),
        (["--all", "--level", "1"], "--all excludes --level; allowed with it: --mode"),
        (["--all", "--hidden", "x"], "--all excludes --hidden; allowed with it: --mode"),
    ],
)
def test_a_command_reads_its_rules_before_it_runs(arguments, refusal):
    done = CliRunner().invoke(command, arguments)
    assert (done.exit_code, done.output.splitlines()[-1]) == (
        (0, "done") if refusal is None else (2, f"Error: {refusal}")
    )
    assert refusal is None or done.output.startswith("Usage: ")


def test_an_option_from_the_environment_counts_unless_its_place_matters():
    from_environment = {"TEST_MODE": "hard"}
    assert "--mode excludes --level" in CliRunner().invoke(command, ["a", "--level", "2"], env=from_environment).output
    assert CliRunner().invoke(command, ["--all"], env=from_environment).output == "done\n"


def test_an_argument_of_any_number_that_is_empty_does_not_count_as_given(monkeypatch):
    # As in click 8.1 and 8.2.
    monkeypatch.setattr(click.Context, "get_parameter_source", lambda *_: ParameterSource.COMMANDLINE)
    done = CliRunner().invoke(click.Command("x", params=command.params, callback=choice_of_names), ["--all"])
    assert (done.exit_code, done.output) == (0, "done\n")


@option_rules(OneOf("NAMES", "--all"))
def choice_of_names(**_options):
    click.echo("done")


def commands_below(command, context):
    """Every command of ``glassmq`` that runs something, as it is called."""
    if not isinstance(command, click.Group):
        return [(context.command_path, command)]
    found = []
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        found += commands_below(below, click.Context(below, context, name))
    return found


# Of its own settings: click keeps a command's help option as its first context wanted it.
COMMANDS = dict(commands_below(main, click.Context(main, info_name="glassmq", **main.context_settings)))


def test_rules_of_every_command_are_about_options_that_it_has():
    wrong = {
        f"{path}: {option}"
        for path, command in COMMANDS.items()
        for rule in rules_of(command.callback)
        for option in rule.options
        if option.partition(" ")[0] not in set(map(label, command.params))
    }
    assert not wrong


def test_values_that_rules_name_are_choices_of_their_options():
    terms = [
        (next(each for each in command.params if label(each) == option.partition(" ")[0]), option.partition(" ")[2])
        for command in COMMANDS.values()
        for rule in rules_of(command.callback)
        for option in rule.options
        if " " in option
    ]
    assert terms
    assert all(value in parameter.type.choices for parameter, value in terms)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_an_expected_error_is_one_line_and_exit_code_1(name, monkeypatch):
    module, _, kind = name.rpartition(".")
    error = type("Special", (getattr(importlib.import_module(module), kind),), {"__str__": lambda _: "it went wrong"})

    def fail(_context):
        raise error.__new__(error)

    monkeypatch.setattr(click.Group, "invoke", lambda _group, context: fail(context))
    done = CliRunner().invoke(main, ["topics"])
    assert (done.exit_code, done.output) == (1, "Error: it went wrong\n")
