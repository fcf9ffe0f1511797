"""The rules' file: what is read, what is refused, and that nothing of it is shown that must not be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine.acl.access_rules import ACCOUNTS_MAX, FILE_MAX_BYTES, parse_rules, read_rules, write_rules
from engine.acl.errors import AccessDenied, BadAccessConfig
from engine.acl.needed_permissions import RULES_OF_REQUESTS
from engine.acl.permission import ADMIN_CODES, Permission
from engine.protocol.body.data_version import DataVersion
from engine.protocol.request_code import RequestCode

#: RocketMQ's own example in the documents of 4.9.8, with keys of the length that it demands.
EXAMPLE = """
globalWhiteRemoteAddresses:
  - 10.10.103.*
accounts:
  - accessKey: RocketMQ
    secretKey: 01234567
    whiteRemoteAddress:
    admin: false
    defaultTopicPerm: DENY
    defaultGroupPerm: SUB
    topicPerms:
      - topicA=DENY
      - topicB=PUB|SUB
      - topicC=SUB
    groupPerms:
      - groupA=DENY
      - groupB=PUB|SUB
  - accessKey: rocketmq2
    secretKey: 12345678
    whiteRemoteAddress: 192.168.1.*
    admin: true
"""


def test_rocketmqs_example_is_read_and_every_value_stays_the_text_it_is() -> None:
    rules = read_rules(EXAMPLE.encode())
    assert rules.is_white("10.10.103.9") and not rules.is_white("10.10.104.9")
    account = rules.accounts["RocketMQ"]
    assert account.secret_key == b"01234567"
    assert account.resource_permissions == {
        "topicA": Permission.DENY,
        "topicB": Permission.PUB | Permission.SUB,
        "topicC": Permission.SUB,
        "%RETRY%groupA": Permission.DENY,
        "%RETRY%groupB": Permission.PUB | Permission.SUB,
    }
    assert rules.accounts["rocketmq2"].is_admin
    assert rules.accounts["rocketmq2"].default_topic_permission == Permission.DENY


def test_written_rules_are_read_back_the_same() -> None:
    rules = read_rules(EXAMPLE.encode())
    again = read_rules(write_rules(rules.content, DataVersion(1_767_225_600_000, 3)))
    assert again.accounts == rules.accounts and again.white_addresses == rules.white_addresses
    assert again.version == DataVersion(1_767_225_600_000, 3)


@pytest.mark.parametrize(
    ("account", "message"),
    [
        (
            {"accessKey": "short", "secretKey": "12345678"},
            r"accounts\[0\].accessKey: has 5 characters; allowed: a text of 7",
        ),
        (
            {"accessKey": "longenough", "secretKey": "hush!"},
            r"accounts\[0\].secretKey: has 5 characters; allowed: a text of 7",
        ),
        ({"accessKey": "longenough"}, r"secretKey: is missing; allowed: a text of 7 to 1024 characters"),
        ({"admin": "perhaps"}, r"admin: 'perhaps' is not allowed; allowed: true, false"),
        ({"defaultTopicPerm": "ANY"}, r"defaultTopicPerm is 'ANY'; allowed: DENY, PUB, SUB"),
        ({"topicPerms": ["orders"]}, r"topicPerms\[0\] is 'orders'; write name=permission"),
        ({"groupPerms": ["g=PUB", "h=READ"]}, r"groupPerms\[1\] is 'READ'"),
        ({"topicPerms": "orders=PUB"}, r"topicPerms: 'orders=PUB' is not allowed; allowed: a list"),
        ({"secret": "x"}, r"secret: is not allowed here \(did you mean secretKey\?\); allowed: accessKey"),
        ({"whiteRemoteAddress": "10.0.0"}, r"not a white address"),
    ],
)
def test_a_wrong_entry_is_named_with_what_is_allowed_and_without_the_secret(account: dict, message: str) -> None:
    whole = {"accessKey": "accessKey1", "secretKey": "sesame-open", **account}
    if "secretKey" not in account and "accessKey" in account and len(account) == 1:
        del whole["secretKey"]
    with pytest.raises(BadAccessConfig, match=message) as caught:
        parse_rules({"accounts": [whole]})
    assert "sesame-open" not in str(caught.value) and "hush!" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["accounts: 5", "- a", "white: []", "accounts: [", "dataVersion: [1]", "globalWhiteRemoteAddresses: [[1]]"]
)
def test_what_is_no_set_of_rules_is_refused(text: str) -> None:
    with pytest.raises(BadAccessConfig):
        read_rules(text.encode())


@pytest.mark.parametrize(
    "content",
    [
        {"accounts": {"secretKey": "sesame-open"}},
        {"accounts": ["secretKey: sesame-open"]},
        {"accounts": [["sesame-open"]]},
        {"accounts": [{"accessKey": "accessKey1", "secretKey": ["sesame-open"]}]},
    ],
)
def test_a_secret_in_the_wrong_place_is_not_shown(content: dict) -> None:
    with pytest.raises(BadAccessConfig, match="accounts") as caught:
        parse_rules(content)
    assert "sesame-open" not in str(caught.value)


def test_the_same_account_twice_is_refused() -> None:
    account = {"accessKey": "accessKey1", "secretKey": "sesame-open"}
    with pytest.raises(BadAccessConfig, match="already exists"):
        parse_rules({"accounts": [account, account]})


def test_an_admin_without_rules_of_its_own_may_do_everything_and_one_with_rules_is_bound_by_them() -> None:
    keys = {"accessKey": "accessKey1", "secretKey": "sesame-open", "admin": "true"}
    free = parse_rules({"accounts": [keys]}).accounts["accessKey1"]
    bound = parse_rules({"accounts": [{**keys, "topicPerms": ["orders=SUB"]}]}).accounts["accessKey1"]
    for code in ADMIN_CODES:
        free.check(code, {})
        bound.check(code, {})
    free.check(RequestCode.SEND_MESSAGE, {"orders": Permission.PUB})
    with pytest.raises(AccessDenied, match="No default permission for topic:orders"):
        bound.check(RequestCode.SEND_MESSAGE, {"orders": Permission.PUB})


def test_deny_wins_over_what_else_is_granted() -> None:
    entry = {"accessKey": "accessKey1", "secretKey": "sesame-open", "defaultTopicPerm": "PUB|SUB"}
    account = parse_rules({"accounts": [{**entry, "topicPerms": ["secrets=DENY"]}]}).accounts["accessKey1"]
    account.check(RequestCode.SEND_MESSAGE, {"orders": Permission.PUB})
    with pytest.raises(AccessDenied, match="topic:secrets"):
        account.check(RequestCode.SEND_MESSAGE, {"secrets": Permission.PUB})


DOCUMENT = Path(__file__).parents[3] / "docs" / "security.md"


def test_the_documented_rules_can_be_used_as_they_stand() -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL)
    rules = read_rules(example.encode())
    assert rules.accounts.keys() == {"orders-app", "operator"} and rules.is_white("10.10.103.1")
    assert rules.accounts["operator"].is_admin and not rules.accounts["operator"].resource_permissions


def test_every_request_with_a_rule_of_its_own_is_documented() -> None:
    text = DOCUMENT.read_text("utf-8")
    assert [code for code in (*RULES_OF_REQUESTS, *ADMIN_CODES) if RequestCode(code).name not in text] == []


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"accessKey": "k" * 1_025}, r"accounts\[0\].accessKey: has 1025 characters; allowed: a text of 7 to 1024"),
        (
            {"topicPerms": ["T=PUB"] * 1_001},
            r"accounts\[0\].topicPerms: has 1001 entries; .* 0 to 1000",
        ),
        ({"groupPerms": ["g=SUB", "g" * 2_000]}, r"accounts\[0\].groupPerms\[1\]: has 2000 characters"),
    ],
)
def test_an_account_without_end_is_refused_before_anything_is_written(entry: dict[str, object], words: str) -> None:
    """Writing and reading YAML takes seconds for each MiB, and the broker stands still meanwhile."""
    with pytest.raises(BadAccessConfig, match=words):
        parse_rules({"accounts": [{"accessKey": "accessKey1", "secretKey": "sesame-open", **entry}]})


def test_the_number_of_accounts_and_of_white_addresses_and_the_size_of_the_file_are_bounded() -> None:
    accounts = [{"accessKey": f"account-{number}", "secretKey": "sesame-open"} for number in range(ACCOUNTS_MAX + 1)]
    assert len(parse_rules({"accounts": accounts[1:]}).accounts) == ACCOUNTS_MAX
    with pytest.raises(BadAccessConfig, match=f"accounts: has {ACCOUNTS_MAX + 1} entries; .* 0 to {ACCOUNTS_MAX}"):
        parse_rules({"accounts": accounts})
    with pytest.raises(BadAccessConfig, match=r"globalWhiteRemoteAddresses: has 1001 entries; .* 0 to 1000"):
        parse_rules({"globalWhiteRemoteAddresses": ["10.0.0.1"] * 1_001})
    with pytest.raises(BadAccessConfig, match=f"it has {FILE_MAX_BYTES + 1} bytes; allowed: {FILE_MAX_BYTES}"):
        read_rules(b"#" * (FILE_MAX_BYTES + 1))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: " + "[" * 100_000, "line 1: nested deeper than 8 levels"),
        ("accounts:\n- " + "{a: " * 3_000 + "}" * 3_000, "line 2: nested deeper than 8 levels"),
        ("accounts: []\naccounts: []\n", "line 2: accounts occurs twice in one entry; allowed: once"),
        ("accounts:\n- accessKey: aaaaaaaa\n  admin: false\n  admin: true\n", "line 4: admin occurs twice"),
    ],
    ids=["lists", "entries", "twice", "twice in an account"],
)
def test_deep_nesting_and_names_that_occur_twice_are_refused_by_line(text, problem):
    with pytest.raises(BadAccessConfig, match=problem):
        read_rules(text.encode())
