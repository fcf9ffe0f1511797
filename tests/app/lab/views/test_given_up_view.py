"""What a broadcasting member dropped stands on its card."""

from app.lab.views.client_view import consumer_view
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario


def test_dropped_broadcast_messages_stand_on_the_card_of_who_dropped_them():
    with LabRun(load_scenario("broadcast-drops")) as run:
        run.run_to_time(2_900_000)
        assert [consumer_view(role)["given_up"] for role in run.world.consumers()] == [None, None]
        run.run_to_time(19_000_000)
        good, bad = (consumer_view(role) for role in run.world.consumers())
        assert good["given_up"] is None
        assert bad["given_up"] == {"count": 1, "keys": ["notice-2"]}
