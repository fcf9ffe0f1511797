"""Settings of the store."""

from __future__ import annotations

import dataclasses

import pytest

from engine.store.files.store_config import FlushDiskType, MessageStoreConfig


def test_defaults_fit_a_laptop():
    config = MessageStoreConfig()
    assert config.mapped_file_size_commit_log == 16 * 1024 * 1024
    assert config.flush_disk_type is FlushDiskType.ASYNC_FLUSH
    assert config.mapped_file_size_consume_queue % 20 == 0
    assert config.delete_hours == (4,)


def test_the_default_delay_levels_are_rocketmqs():
    delays = MessageStoreConfig().delay_levels_ms
    assert len(delays) == 19
    assert (delays[0], delays[1], delays[3], delays[5], delays[18]) == (0, 1_000, 10_000, 60_000, 7_200_000)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("mapped_file_size_commit_log", 0),
        ("max_index_num", 1),
        ("max_mapped_files", 1),
        ("delete_when", "24"),
        ("delete_when", "noon"),
        ("delete_when", ""),
        ("message_delay_level", "1s five"),
        ("message_delay_level", "0s"),
        ("message_delay_level", ""),
        ("message_delay_level", "1s 9999999999d"),
        ("disk_space_warning_level_ratio", 0.0),
        ("disk_space_warning_level_ratio", float("nan")),
        ("sync_flush_timeout_ms", 0),
    ],
)
def test_an_impossible_setting_is_named(setting, value):
    with pytest.raises(ValueError, match=setting) as error:
        MessageStoreConfig(**{setting: value})
    assert str(value) in str(error.value)


def test_every_setting_can_be_given_by_name():
    config = MessageStoreConfig()
    values = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    assert MessageStoreConfig(**values) == config
