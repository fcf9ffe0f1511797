"""Settings that a scenario may change."""

from __future__ import annotations

import pytest

from engine.lab.scenario.errors import SettingRefused
from engine.lab.scenario.kinds.broker import BrokerSpec
from engine.lab.scenario.kinds.consumer import ConsumerSpec
from engine.lab.scenario.kinds.node_kinds import NODE_KINDS
from engine.lab.scenario.kinds.stores import RedisSpec
from engine.lab.scenario.settings import find_setting, settings_of


def test_a_setting_is_found_under_our_name_and_under_rocketmqs():
    ours = find_setting(BrokerSpec.role, "rebalance_lock_max_live_time_ms")
    assert find_setting(BrokerSpec.role, "rebalanceLockMaxLiveTime") is ours
    assert (ours.default, ours.unit) == (60_000, "ms")


def test_every_role_but_a_redis_has_settings_with_a_unit_where_the_name_has_one():
    without = [role for role in NODE_KINDS if not settings_of(role)]
    assert without == [RedisSpec.role]
    for settings in map(settings_of, NODE_KINDS):
        for name, setting in settings.items():
            assert (setting.unit == "ms") == name.endswith(("_ms", "_mills", "_millis"))


def test_an_unknown_setting_is_refused_with_the_likely_one():
    with pytest.raises(SettingRefused, match="did you mean pull_batch_size"):
        find_setting(ConsumerSpec.role, "pull_batchsize")


@pytest.mark.parametrize("name", ["broker_name", "port", "flush_disk_type", "name_server_addresses"])
def test_what_the_scenario_decides_is_no_setting(name):
    with pytest.raises(SettingRefused):
        find_setting(BrokerSpec.role, name)


@pytest.mark.parametrize(
    ("role", "name", "value"),
    [
        (BrokerSpec.role, "hold_check_interval_ms", 0),
        (BrokerSpec.role, "hold_check_interval_ms", -5),
        (BrokerSpec.role, "hold_check_interval_ms", 1.5),
        (BrokerSpec.role, "hold_check_interval_ms", True),
        (BrokerSpec.role, "hold_check_interval_ms", 10**15),
        (BrokerSpec.role, "disk_max_used_space_ratio", float("nan")),
        (BrokerSpec.role, "disk_max_used_space_ratio", 1.5),
        (BrokerSpec.role, "long_polling_enable", 1),
        (BrokerSpec.role, "delete_when", "x" * 201),
        (BrokerSpec.role, "delete_when", 4),
    ],
)
def test_a_value_that_would_stop_time_or_makes_no_sense_is_refused(role, name, value):
    with pytest.raises(SettingRefused, match=name):
        find_setting(role, name).check(value)


def test_whole_numbers_are_allowed_where_numbers_are():
    assert find_setting(BrokerSpec.role, "disk_max_used_space_ratio").check(1) == 1.0
