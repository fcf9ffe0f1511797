"""White addresses: what they match and what they are not."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.acl.errors import BadAccessConfig
from engine.acl.remote_address_pattern import parse_remote_address

MATCHES = [
    ("*", "10.0.0.1", True),
    ("*.*.*.*", "::1", True),
    ("", "10.0.0.1", False),
    ("192.168.1.10", "192.168.1.10", True),
    ("192.168.1.10", "192.168.1.100", False),
    ("10.0.0.1,10.0.0.2", "10.0.0.2", True),
    ("10.0.0.1,10.0.0.2", "10.0.0.3", False),
    ("10.0.0.{1,7}", "10.0.0.7", True),
    ("10.0.0.{1,7}", "10.0.0.17", False),
    ("192.168.*.*", "192.168.7.9", True),
    ("192.168.*.*", "192.169.7.9", False),
    ("192.168.1-10.*", "192.168.10.1", True),
    ("192.168.1-10.*", "192.168.11.1", False),
    ("192.168.*.5", "192.168.7.9", False),
    ("::1", "[::1]", True),
    ("2::ac5:78:1-200:*", "2::ac5:78:200:ffff", True),
    ("2::ac5:78:1-200:*", "2::ac5:78:201:0", False),
    ("fe80::{1,a}", "fe80::a", True),
    ("10.*.*.*", "::1", False),
    ("10.0.0.1", "unknown", False),
]


@pytest.mark.parametrize(("pattern", "ip", "expected"), MATCHES)
def test_a_pattern_matches_what_it_says(pattern: str, ip: str, expected: bool) -> None:
    assert parse_remote_address(pattern).matches(ip) is expected


@pytest.mark.parametrize(
    "text",
    [
        "10.0.0",
        "10.0.0.256",
        "10.0.0.9-3",
        "10.0.0.-3",
        "10.0.0.x",
        "10.0.0.1,",
        "10.0.{0}.1",
        "a:b",
        "1::2::3",
        "{1,2}",
    ],
)
def test_what_is_no_address_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(BadAccessConfig, match=r"not a white address; allowed:"):
        parse_remote_address(text)


@given(st.ip_addresses(), st.ip_addresses())
def test_a_single_address_matches_itself_and_no_other(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address, other: ipaddress.IPv4Address | ipaddress.IPv6Address
) -> None:
    pattern = parse_remote_address(str(address))
    assert pattern.matches(str(address))
    assert pattern.matches(str(other)) == (address == other)
