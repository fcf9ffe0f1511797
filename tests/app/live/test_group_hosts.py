"""Live hosts whose brokers are members of a group: what their pages say of them."""

import contextlib
import shutil

import pytest

from app.live.live_host import LiveHost
from app.web.live_source import MemberWithoutBroker
from engine.broker.foundation.broker_config import BrokerConfig
from engine.live.live_machines import LiveHostSettings
from engine.name_server.name_server_config import NameServerConfig
from engine.replication.majority.group_config import parse_group
from tests.interop.harness.ports import free_port
from tests.support.waiting import wait_until


def group_host(folder, peers, name, name_servers=None):
    ports = name_servers or {}
    settings = LiveHostSettings(
        data_folder=folder / name,
        name_server=NameServerConfig(port=ports.get(name, 0)),
        broker=BrokerConfig(port=free_port()),
        group=parse_group(peers, name),
        also_register=tuple(f"127.0.0.1:{port}" for other, port in ports.items() if other != name),
    )
    return LiveHost(settings)


def state_of(host):
    """None while another leads."""
    with contextlib.suppress(MemberWithoutBroker):
        return host.state()
    return None


def test_of_a_group_the_leader_shows_its_followers_and_the_others_say_who_leads(tmp_path):
    names = ("n0", "n1", "n2")
    peers = ";".join(f"{name}-127.0.0.1:{free_port()}" for name in names)
    with contextlib.ExitStack() as stack:
        hosts = {name: group_host(tmp_path, peers, name) for name in names}
        for host in hosts.values():
            host.start()
            stack.callback(host.stop)
        wait_until(lambda: any(map(state_of, hosts.values())), "a leader")
        (leader,) = (name for name, host in hosts.items() if state_of(host))
        view = state_of(hosts[leader])["replication"]
        assert (view["role"], view["replicas_needed"]) == ("LEADER", 1)
        assert sorted(slave["address"] for slave in view["slaves"]) == [name for name in names if name != leader]
        follower = next(host for name, host in hosts.items() if name != leader)
        with pytest.raises(MemberWithoutBroker) as absence:
            follower.state()
        assert absence.value.reported["leader"] == leader
        assert absence.value.reported["standing"] == "follower"
        assert absence.value.reported["term"] == view["term"]
        families = {family.name: family for family in hosts[leader].metrics()}
        assert len(families["rocketmq_broker_commitlog_diff"].samples) == 2


def test_a_follower_lists_the_leader_with_what_each_follower_has_confirmed(tmp_path):
    names = ("n0", "n1", "n2")
    peers = ";".join(f"{name}-127.0.0.1:{free_port()}" for name in names)
    name_servers = {name: free_port() for name in names}
    with contextlib.ExitStack() as stack:
        hosts = {name: group_host(tmp_path, peers, name, name_servers) for name in names}
        for host in hosts.values():
            host.start()
            stack.callback(host.stop)
        wait_until(lambda: any(map(state_of, hosts.values())), "a leader")
        (leader,) = (name for name, host in hosts.items() if state_of(host))
        follower = next(host for name, host in hosts.items() if name != leader)

        def leader_seen():
            brokers = follower.brokers()["brokers"]
            return brokers[0] if [one["state"] for one in brokers] == ["answers"] else None

        seen = wait_until(leader_seen, "the leader's report", seen=follower.brokers)
        facts = seen["facts"]
        assert (seen["address"], seen["is_own"]) == (hosts[leader].broker_address, False)
        assert (facts["role"], facts["replicas_needed"]) == ("LEADER", 1)
        assert facts["term"] == state_of(hosts[leader])["replication"]["term"]
        assert sorted(facts["replicas"]) == [name for name in names if name != leader]


def standing_of(host):
    """What the page says of a member that has no broker."""
    try:
        host.state()
    except MemberWithoutBroker as absence:
        return absence.reported["standing"], absence.reported["why"].get("en", "")
    return "leader", ""


def test_of_a_group_a_member_with_an_empty_folder_joins_and_does_not_help_to_elect(tmp_path):
    names = ("n0", "n1", "n2")
    peers = ";".join(f"{name}-127.0.0.1:{free_port()}" for name in names)
    with contextlib.ExitStack() as stack:
        hosts = {name: group_host(tmp_path, peers, name) for name in names}
        for host in hosts.values():
            host.start()
            stack.callback(host.stop)
        wait_until(lambda: any(map(state_of, hosts.values())), "a leader")
        (leader,) = (name for name, host in hosts.items() if state_of(host))
        lagging, wiped = (name for name in names if name != leader)
        for name in (leader, wiped):
            hosts[name].stop()
        shutil.rmtree(tmp_path / wiped)
        again = hosts[wiped] = group_host(tmp_path, peers, wiped)
        again.start()
        stack.callback(again.stop)
        wait_until(lambda: standing_of(hosts[lagging])[0] == "pre-candidate", "that it asks for votes")
        assert standing_of(again) == ("joining", "its folder was empty")
        hosts[leader] = group_host(tmp_path, peers, leader)
        hosts[leader].start()
        stack.callback(hosts[leader].stop)
        wait_until(lambda: standing_of(again)[0] in ("follower", "leader"), "that it is a member again")
