"""A node's network with fault injection: connections that it accepts pass the injector."""

from __future__ import annotations

from engine.faults.fault_rule import FaultAction
from engine.faults.faulty_network import FaultyNetwork
from engine.protocol.command.remoting_command import RemotingCommand, encode_command
from engine.protocol.request_code import RequestCode
from tests.engine.faults.frame_path import NODE
from tests.support.lab.runtime_handlers import CollectingHandler, EchoHandler


def test_what_a_node_accepts_passes_its_fault_injector(frame_path):
    world, client = frame_path.world, frame_path.world.node("client")
    network = FaultyNetwork(frame_path.runtime.network, frame_path.injector)
    listener = world.run(network.listen("", 10_911, EchoHandler), node=NODE)
    address = listener.address
    handler = CollectingHandler()
    connection = world.run(client.network.connect(address, handler, 3_000), node="client")
    pull = encode_command(RemotingCommand.request(RequestCode.PULL_MESSAGE))
    connection.send_frame(pull)
    world.run_for(100)
    assert handler.frames == [pull[4:]]
    frame_path.add(FaultAction.DROP, "PULL_MESSAGE", direction="in")
    connection.send_frame(pull)
    world.run_for(100)
    assert len(handler.frames) == 1
