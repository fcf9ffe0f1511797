"""Drives the C++ client (PyPI ``rocketmq`` 0.4.4) from a process of its own; runs in that client's environment.

Each report is one line of JSON on standard output. A consumer, and a sender with ``--count 0``, run until SIGTERM.
"""

import argparse
import ctypes
import json
import os
import signal
import threading
import time

from rocketmq.client import Message, Producer, PullConsumer, PushConsumer
from rocketmq.exceptions import RocketMQException
from rocketmq.ffi import MessageModel

#: A sender that goes on for minutes is there so that something is always under way, not to fill the disk.
_PACE_S = 0.02
_CALLBACK_DEADLINE_S = 60
#: The library's default of 3 s would turn a stall of a busy machine into a failed or a repeated send.
_SEND_TIMEOUT_MS = 30_000


def report(**event):
    """One ``write`` call per line: the native library's threads report at the same time."""
    os.write(1, (json.dumps(event) + "\n").encode())


def text_of(number, arguments):
    """Message ``number``; random-looking padding would not compress, so it repeats the number instead."""
    text = f"{arguments.prefix}-{number}"
    return text if len(text) >= arguments.body_bytes else text.ljust(arguments.body_bytes, "x")


def message_of(number, arguments):
    message = Message(arguments.topic)
    message.set_tags("TagA")
    message.set_keys(f"{arguments.prefix}-key-{number}")
    message.set_property("number", str(number))
    message.set_body(text_of(number, arguments))
    return message


def send(arguments):
    producer = Producer(arguments.group, timeout=arguments.timeout_ms)
    producer.set_namesrv_addr(arguments.name_server)
    producer.start()
    report(event="ready")
    if arguments.mode == "async":
        send_async(producer, arguments)
    elif arguments.count:
        for number in range(arguments.count):
            send_one(producer, number, arguments)
    else:
        number = 0
        while signal.sigtimedwait({signal.SIGTERM}, _PACE_S) is None:
            try:
                send_one(producer, number, arguments)
            except RocketMQException as error:
                if not arguments.enduring:
                    raise
                report(event="failed", number=number, error=type(error).__name__)
            number += 1
    report(event="done")
    producer.shutdown()


def send_one(producer, number, arguments):
    message = message_of(number, arguments)
    if arguments.mode == "oneway":
        producer.send_oneway(message)
        report(event="sent", number=number)
        return
    began_ns = time.monotonic_ns()
    if arguments.mode == "selected":
        result = producer.send_orderly(message, number)
    else:
        result = producer.send_sync(message)
    passed_ms = (time.monotonic_ns() - began_ns) / 1e6
    place = {"id": result.msg_id, "offset": result.offset}
    report(event="sent", number=number, status=int(result.status), ms=round(passed_ms, 2), **place)


def send_async(producer, arguments):
    answered = threading.Semaphore(0)

    def succeeded(result):
        report(event="sent", status=int(result.status), id=result.msg_id, offset=result.offset)
        answered.release()

    def failed(error):
        report(event="failed", error=str(error))
        answered.release()

    messages = [message_of(number, arguments) for number in range(arguments.count)]
    for message in messages:
        producer.send_async(message, succeeded, failed)
    for _ in messages:
        if not answered.acquire(timeout=_CALLBACK_DEADLINE_S):
            report(event="failed", error="a callback never came")
            return


def received(message, listener_s=0.0):
    began_ns = time.monotonic_ns()
    if listener_s:
        time.sleep(listener_s)
    body = message.body
    body = body if isinstance(body, bytes) else ctypes.string_at(body)
    report(
        event="message",
        body=body.decode()[:200],
        body_bytes=len(body),
        queue=message.queue_id,
        offset=message.queue_offset,
        id=message.id,
        number=int(message.get_property("number") or -1),
        tags=(message.tags or b"").decode(),
        reconsume_times=message.reconsume_times,
        began_ns=began_ns,
        ended_ns=time.monotonic_ns(),
    )


def consume(arguments):
    model = MessageModel.BROADCASTING if arguments.broadcast else MessageModel.CLUSTERING
    consumer = PushConsumer(arguments.group, orderly=arguments.orderly, message_model=model)
    consumer.set_namesrv_addr(arguments.name_server)
    consumer.set_instance_name(arguments.instance)
    consumer.set_thread_count(2)
    listener_s = arguments.listener_ms / 1000

    def listen(message):
        received(message, listener_s)
        if arguments.failing:
            raise ValueError("the listener fails")  # the library takes it as RECONSUME_LATER

    consumer.subscribe(arguments.topic, listen)
    consumer.start()
    report(event="ready")
    signal.sigwait({signal.SIGTERM})
    consumer.shutdown()
    report(event="done")


def pull(arguments):
    consumer = PullConsumer(arguments.group)
    consumer.set_namesrv_addr(arguments.name_server)
    consumer.start()
    report(event="ready")
    for message in consumer.pull(arguments.topic):
        received(message)
    report(event="done")
    consumer.shutdown()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=["send", "consume", "pull"])
    parser.add_argument("--name-server", required=True)
    parser.add_argument("--group", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--mode", choices=["sync", "async", "oneway", "selected"], default="sync")
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--body-bytes", type=int, default=0)
    parser.add_argument("--prefix", default="message")
    parser.add_argument("--instance", default="DEFAULT")
    parser.add_argument("--broadcast", action="store_true")
    parser.add_argument("--orderly", action="store_true")
    parser.add_argument("--failing", action="store_true", help="a listener that always fails")
    parser.add_argument("--enduring", action="store_true", help="go on after a send that failed")
    parser.add_argument("--timeout-ms", type=int, default=_SEND_TIMEOUT_MS)
    parser.add_argument("--listener-ms", type=float, default=0)
    arguments = parser.parse_args()
    # Blocked before the native library starts its threads, so that sigwait alone takes the signal.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    {"send": send, "consume": consume, "pull": pull}[arguments.action](arguments)
    os._exit(0)  # the library's own destructors have crashed at interpreter exit


if __name__ == "__main__":
    main()
