"""A server in the lab that answers as a test has scripted: for what a real broker does only when it is ill."""

from __future__ import annotations

from collections.abc import Callable

from engine.protocol.body.topic_route_data import BrokerData, QueueData, TopicRouteData
from engine.protocol.command.headers import SendMessageResponseHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.remoting.channel import Channel
from engine.remoting.remoting_server import RemotingServer
from engine.runtime.lab.lab_runtime import LabMachines

#: Makes the reply of a request; None: silence.
Answer = Callable[[RemotingCommand], RemotingCommand | None]

SENDS = (RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE)


def silent(request: RemotingCommand) -> None:
    """No answer, ever."""


def refuse(code: int, remark: str = "because") -> Answer:
    """A reply with ``code`` and nothing else."""
    return lambda request: request.reply(code, remark)


def stored(code: int = ResponseCode.SUCCESS, queue_offset: int = 0) -> Answer:
    """The reply to a send that was stored in the queue it asked for."""

    def answer(request: RemotingCommand) -> RemotingCommand:
        queue_id = int(request.ext_fields["e"])
        return request.reply(
            code, None, SendMessageResponseHeader("7F00000100002A9F" + "0" * 16, queue_id, queue_offset)
        )

    return answer


class StubServer:
    """Listens on a node of its own; keeps every request it got.

    Each code has a script of answers; the last one of a script is repeated. Without a script: code 3.
    """

    def __init__(self, world: LabMachines, node: str, port: int = 10911) -> None:
        self.node = node
        runtime = world.node(node)
        self.server = RemotingServer(runtime, node)
        self.server.processors.set_default(self._process)
        self.requests: list[RemotingCommand] = []
        self._scripts: dict[int, list[Answer]] = {RequestCode.HEART_BEAT: [refuse(ResponseCode.SUCCESS)]}
        self._scripts[RequestCode.UNREGISTER_CLIENT] = [refuse(ResponseCode.SUCCESS)]
        world.run(self.server.start("", port), node=node)
        self.address = self.server.address

    def script(self, *answers: Answer, codes: tuple[int, ...] = SENDS) -> None:
        """Answer the next requests of each of ``codes`` so."""
        for code in codes:
            self._scripts[code] = list(answers)

    def requests_of(self, *codes: int) -> list[RemotingCommand]:
        """The requests so far that have one of ``codes``."""
        return [request for request in self.requests if request.code in codes]

    @property
    def sends(self) -> list[RemotingCommand]:
        """The sends so far."""
        return self.requests_of(*SENDS)

    def _process(self, channel: Channel, request: RemotingCommand) -> RemotingCommand | None:
        self.requests.append(request)
        script = self._scripts.get(request.code)
        if script is None:
            return request.reply(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, f"the stub has no script for {request.code}")
        answer = script.pop(0) if len(script) > 1 else script[0]
        return answer(request)


def route_of(topic_brokers: dict[str, str], *, queues: int = 4, perm: int = 6) -> TopicRouteData:
    """The route of a topic with ``queues`` queues on each broker; brokers are name -> address."""
    return TopicRouteData(
        [QueueData(name, queues, queues, perm) for name in topic_brokers],
        [BrokerData("DefaultCluster", name, {0: address}) for name, address in topic_brokers.items()],
    )


def answer_routes(routes: dict[str, TopicRouteData]) -> Answer:
    """A name server's answer to 105: the topic's route, or code 17."""

    def answer(request: RemotingCommand) -> RemotingCommand:
        topic = request.ext_fields["topic"]
        if topic not in routes:
            remark = f"No topic route info in name server for the topic: {topic}"
            return request.reply(ResponseCode.TOPIC_NOT_EXIST, remark)
        return request.reply(ResponseCode.SUCCESS, body=routes[topic].to_json())

    return answer
