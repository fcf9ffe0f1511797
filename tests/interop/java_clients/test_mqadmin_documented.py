"""``docs/operating/mqadmin.md`` and the script of ``test_mqadmin.py`` speak of the same commands. Needs no Java."""

from __future__ import annotations

import re

from engine.broker.tables.broker_configuration import CHANGEABLE
from tests.interop.harness.installs import REPOSITORY
from tests.interop.java_clients.test_mqadmin import SCRIPT

_PAGE = (REPOSITORY / "docs" / "operating" / "mqadmin.md").read_text("utf-8")
_ROW = re.compile(r"^\| `(\w+)` \| (same|other values|works) \|", re.MULTILINE)
_VERDICTS = dict(_ROW.findall(_PAGE.partition("<!-- commands -->")[2].partition("<!-- end -->")[0]))


def test_every_command_has_a_verdict() -> None:
    """56 are registered in ``MQAdminStartup`` of 4.9.8."""
    assert len(_VERDICTS) == 56


def test_a_command_is_called_compared_exactly_if_the_script_runs_it() -> None:
    compared = {command for command, verdict in _VERDICTS.items() if verdict != "works"}
    assert compared == {line.split()[0] for line in SCRIPT}


def test_the_settings_that_can_change_are_named() -> None:
    section = _PAGE.partition("## Settings")[2].partition("## Equivalent glassmq")[0]
    named = {name for name in CHANGEABLE if f"`{name}`" in section}
    assert {name for name in CHANGEABLE if name not in named} == {
        name for name in CHANGEABLE if name.startswith("maxTransfer")
    }
