"""What settings must be beyond their type."""

import pytest

from engine.broker.foundation.broker_config import BrokerConfig
from engine.name_server.name_server_config import NameServerConfig
from engine.store.files.setting_rules import read_number


@pytest.mark.parametrize(
    ("config", "field"), [(BrokerConfig, "port"), (BrokerConfig, "ha_listen_port"), (NameServerConfig, "port")]
)
def test_every_port_has_bounds(config, field):
    for port in (0, 1, 65_535):
        assert getattr(config(**{field: port}), field) == port
    for wrong in (-1, 65_536, 99_999):
        with pytest.raises(ValueError, match=f"{field} is {wrong}; it must be a port, 1 to 65535"):
            config(**{field: wrong})


@pytest.mark.parametrize("text", ["", "1_000", "٤", "²", "inf", "nan", "1e3", "0x10", " 1", "1.", "1" * 20])
def test_what_only_python_takes_for_a_number_is_refused(text):
    for kind in (int, float):
        with pytest.raises(ValueError, match=r"is not a number|invalid literal"):
            read_number(kind, text)
    assert (read_number(int, "+7"), read_number(int, "-7"), read_number(float, "0.5")) == (7, -7, 0.5)
