"""Drives the transactional producer of PyPI ``rocketmq-client-python`` 2.0.0 from a process of its own.

Sends one message per tag in ``--tags``: TAGA commits, TAGB rolls back, TAGC does not know and answers ``--check``
when the broker asks. Each report is one line of JSON on standard output. Runs until SIGTERM.
"""

import argparse
import json
import os
import signal

from rocketmq.client import Message, TransactionMQProducer, TransactionStatus

_ANSWERS = {"TAGA": TransactionStatus.COMMIT, "TAGB": TransactionStatus.ROLLBACK, "TAGC": TransactionStatus.UNKNOWN}
_CHECK_ANSWERS = {
    "commit": TransactionStatus.COMMIT,
    "rollback": TransactionStatus.ROLLBACK,
    "unknown": TransactionStatus.UNKNOWN,
}


def report(**event):
    os.write(1, (json.dumps(event) + "\n").encode())


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def main():
    parser = argparse.ArgumentParser()
    for option in ("--name-server", "--group", "--topic"):
        parser.add_argument(option, required=True)
    parser.add_argument("--tags", default="TAGA,TAGB,TAGC")
    parser.add_argument("--check", choices=_CHECK_ANSWERS, default="commit")
    arguments = parser.parse_args()

    def check(message):
        report(event="checked", body=text(message.body), tags=text(message.tags))
        return _CHECK_ANSWERS[arguments.check]

    def execute(message, _):
        report(event="executed", body=text(message.body), tags=text(message.tags))
        return _ANSWERS[text(message.tags)]

    producer = TransactionMQProducer(arguments.group, check, timeout=30_000)
    producer.set_name_server_address(arguments.name_server)
    producer.start()
    report(event="ready")
    for number, tag in enumerate(arguments.tags.split(",")):
        message = Message(arguments.topic)
        message.set_tags(tag)
        message.set_keys(f"transfer-{number}")
        message.set_body(f"Hi,{number}")
        result = producer.send_message_in_transaction(message, execute, None)
        report(event="sent", number=number, status=int(result.status), offset=result.offset)
    report(event="done")
    signal.sigwait({signal.SIGTERM})
    # The native library's shutdown may crash; there is nothing left that it would have to save.
    os._exit(0)


signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
main()
