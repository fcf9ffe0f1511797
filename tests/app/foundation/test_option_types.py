"""Types of options refuse with option, problem and what is allowed, and exit code 2."""

import runpy

import click
import pytest
from click.testing import CliRunner

from app.foundation import option_types
from app.foundation.option_types import (
    Read,
    address,
    addresses,
    assignment,
    by_field,
    folder,
    name,
    no_such,
    output_file,
    pem_file,
    port,
    text_field,
    usage_errors,
)
from engine.fields.refusal import FieldRefused

BAD_PORTS = ("h:", "h: 80", "h:+80", "h:80 0", "h:abc", "h:１", "h:²", "h:65536", "h:100000000", f"h:{'9' * 49}")
SECRET = by_field(text_field("it", str.isupper, "capitals", is_secret=True))


def given(kind, value, **settings):
    @click.command()
    @click.option("--it", type=kind, **settings)
    def command(it):
        click.echo(repr(it))

    done = CliRunner().invoke(command, [] if value is None else ["--it", value])
    return done.exit_code, done.output.splitlines()[-1]


@pytest.mark.parametrize(
    ("kind", "value", "read"),
    [
        (port, "0", "0"),
        (port, " 65535", "65535"),
        (port, None, "None"),
        (address, "h:1", "'h:1'"),
        (address, "[::1]:9876", "'[::1]:9876'"),
        (addresses, "a:1; b:2;", "('a:1', 'b:2')"),
        (name, "a%b|c-_", "'a%b|c-_'"),
        (assignment("NODE.NAME=VALUE"), "C1.x=a=b", "('C1', 'x', 'a=b')"),
        (Read("word", str.upper), "x", "'X'"),
    ],
)
def test_a_value_is_read(kind, value, read):
    assert given(kind, value) == (0, read)


def test_types_of_parameters_need_not_be_generic(monkeypatch):
    monkeypatch.setattr(click, "ParamType", type("ParamType", (), {}))  # as until click 8.3
    assert runpy.run_path(option_types.__file__)["port"].name == "port"


def test_a_default_that_is_no_text_is_taken_as_it_is():
    assert given(port, None, default=9876) == (0, "9876")
    assert given(port, None, default="9876") == (0, "9876")


@pytest.mark.parametrize(
    ("kind", "value", "detail"),
    [
        (port, "65536", "'65536' is not allowed; allowed: 1 to 65535, and 0 for any free one"),
        (port, "1_0", "'1_0' is not allowed; allowed: 1 to 65535, and 0 for any free one"),
        (port, "１", "'１' is not allowed; allowed: 1 to 65535, and 0 for any free one"),
        (address, "host", "'host' is not allowed; allowed: HOST:PORT, such as 127.0.0.1:9876"),
        (address, ":1", "':1' is not allowed; allowed: HOST:PORT, such as 127.0.0.1:9876"),
        (address, "h:0", "'h:0' is not allowed; allowed: HOST:PORT, such as 127.0.0.1:9876"),
        *((address, bad, f"{bad!r} is not allowed; allowed: HOST:PORT, such as 127.0.0.1:9876") for bad in BAD_PORTS),
        (addresses, "a:1;b", "'b' is not allowed; allowed: HOST:PORT, such as 127.0.0.1:9876"),
        (name, "a b", "'a b' is not allowed; allowed: letters, digits and % | - _, at most 127 of them"),
        (folder, " ", "the name is empty; allowed: a folder, such as ./data"),
        (pem_file, "/none", "/none is not a file; allowed: a PEM file"),
        (output_file, "/n/x", "/n/x cannot be written: there is no folder /n; allowed: a file in an existing folder"),
        (output_file, "/", "/ cannot be written: it is a folder; allowed: a file in an existing folder"),
        (SECRET, "x", "the value is not allowed; allowed: capitals"),
        (assignment("A=B", "x=1"), "x", "'x' is not allowed; allowed: A=B, such as x=1"),
        (Read("it", int, ValueError), "x", "invalid literal for int() with base 10: 'x'"),
    ],
)  # fmt: skip
def test_a_refusal_names_the_option_the_problem_and_what_is_allowed(kind, value, detail):
    assert given(kind, value) == (2, f"Error: Invalid value for '--it': {detail}")


def test_refusals_and_named_errors_become_usage_errors():
    with pytest.raises(click.UsageError, match=r"^there: wrong; allowed: right$"), usage_errors():
        raise FieldRefused("there", "wrong", "right")
    with pytest.raises(click.BadParameter) as refused, usage_errors(KeyError, option="--it"):
        raise KeyError("x")
    assert refused.value.param_hint == "--it"
    with pytest.raises(KeyError), usage_errors(IndexError):
        raise KeyError


def test_an_unknown_name_is_refused_with_a_likely_one_and_all_that_are_known():
    assert str(no_such("job", "trafic", ["audit", "traffic"])) == (
        "there is no job 'trafic'; did you mean traffic? allowed: audit, traffic"
    )
    assert str(no_such("job", "x", ["audit"])) == "there is no job 'x'; allowed: audit"
