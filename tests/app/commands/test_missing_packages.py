"""Commands that need more than ``pip install glassmq`` brings."""

import sys

import pytest
from click.testing import CliRunner

from app.command_line import main


@pytest.mark.parametrize(
    ("package", "arguments"),
    [
        ("flask", ["serve", "--http-port", "0", "--name-server-port", "0", "--broker-port", "0", "--data", "data"]),
        ("sqlite_utils", ["bank", "--folder", "bank", "--transfers", "1"]),
    ],
)
def test_a_command_that_lacks_a_package_names_the_extra(package, arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, package, None)
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 1
    assert package in result.output
    assert "pip install 'glassmq[page]'" in result.output
