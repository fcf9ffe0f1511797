"""Who is in a group, as it is written on the command line."""

from __future__ import annotations

import pytest

from engine.replication.majority.group_config import GroupUnclear, parse_group


def test_the_members_are_written_as_dledger_writes_them():
    group = parse_group("n0-127.0.0.1:40911; n1-127.0.0.1:40912;n2-host.example:40913", "n1")
    assert group.addresses == {"n0": "127.0.0.1:40911", "n1": "127.0.0.1:40912", "n2": "host.example:40913"}
    assert group.own_address == ("127.0.0.1", 40912)


@pytest.mark.parametrize(
    ("peers", "name", "problem"),
    [
        ("", "n0", "is not a member"),
        ("n0=127.0.0.1:1", "n0", "is not a member; write members as n0-127.0.0.1:40911"),
        ("n0-127.0.0.1", "n0", "is not a member"),
        ("n0-127.0.0.1:65536", "n0", "is not a member"),
        ("n0-127.0.0.1:1;n0-127.0.0.1:2", "n0", "a name and an address of its own"),
        ("n0-127.0.0.1:1;n1-127.0.0.1:1", "n0", "a name and an address of its own"),
        ("n0-127.0.0.1:1;n1-127.0.0.1:2", "n2", "'n2' is not one of the members n0, n1"),
    ],
)
def test_what_names_no_group_is_refused_with_the_reason(peers, name, problem):
    with pytest.raises(GroupUnclear, match=problem):
        parse_group(peers, name)
