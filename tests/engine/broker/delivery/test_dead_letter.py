"""What a dead letter tells of its death, and the message that it is resent as."""

from __future__ import annotations

import pytest

from engine.broker.delivery.dead_letter import (
    DeadLetterRefused,
    DeathCause,
    ResendTo,
    cause_of_death,
    resend_request,
    resent_as,
    retries_of,
)
from engine.protocol.command.headers import SendMessageRequestHeader
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_properties import decode_properties
from engine.protocol.system_flags import TRANSACTION_COMMIT_TYPE, TRANSACTION_MASK


def dead_letter(reconsume_times: int = 17, offset: int = 500, sys_flag: int = 0, **properties: str) -> MessageExt:
    return MessageExt(
        topic="%DLQ%g",
        body=b"body",
        properties=properties,
        queue_id=0,
        queue_offset=0,
        commit_log_offset=offset,
        born_timestamp=1,
        born_host="10.0.0.1:1",
        store_timestamp=2,
        store_host="10.0.0.2:10911",
        sys_flag=sys_flag,
        reconsume_times=reconsume_times,
    )


def resent(dead: MessageExt, to: ResendTo) -> tuple[SendMessageRequestHeader, dict[str, str]]:
    header = SendMessageRequestHeader.decode(resend_request(dead, "g", to, now_ms=9, queue_id=3).ext_fields)
    return header, decode_properties(header.properties or "")


@pytest.mark.parametrize(
    ("dead", "cause", "retries"),
    [
        (dead_letter(17, RETRY_TOPIC="T"), DeathCause.RETRIES_USED_UP, 16),
        (dead_letter(3, RETRY_TOPIC="T"), DeathCause.CONSUMER_DECIDED, 2),
        (dead_letter(1, RETRY_TOPIC="T"), DeathCause.CONSUMER_DECIDED, 0),
        (dead_letter(3, RETRY_TOPIC="T", REAL_TOPIC="%DLQ%g"), DeathCause.ORDERED_LIMIT, 3),
        (dead_letter(3, RETRY_TOPIC="T", REAL_TOPIC="%RETRY%g"), DeathCause.CONSUMER_DECIDED, 2),
        (dead_letter(0), DeathCause.SENT_THERE, 0),
    ],
)
def test_a_dead_letter_tells_why_it_died_as_far_as_a_broker_knows(dead, cause, retries):
    assert (cause_of_death(dead, retry_max_times=16), retries_of(dead)) == (cause, retries)


def test_to_the_topic_goes_a_new_message_without_what_belonged_to_the_old_ones_way():
    dead = dead_letter(
        RETRY_TOPIC="T", KEYS="k", TAGS="t", UNIQ_KEY="U", mine="1", DELAY="18", REAL_TOPIC="%RETRY%g", REAL_QID="0"
    )
    header, properties = resent(dead, ResendTo.TOPIC)
    assert (header.topic, header.queue_id, header.reconsume_times, header.born_timestamp) == ("T", 3, 0, 9)
    marker = {"RESENT_DEAD_LETTER": dead.offset_message_id}
    assert properties == {"KEYS": "k", "TAGS": "t", "UNIQ_KEY": "U", "mine": "1", **marker}
    # Where the topic is gone no template creates it again.
    assert header.default_topic == ""


def test_to_the_group_goes_a_message_that_knows_its_first_topic_and_may_be_retried():
    header, properties = resent(dead_letter(RETRY_TOPIC="T", UNIQ_KEY="U"), ResendTo.GROUP)
    assert (header.topic, header.queue_id, properties["RETRY_TOPIC"]) == ("%RETRY%g", -1, "T")
    # A group whose limit is 0 would bury it at once.
    assert header.reconsume_times == 0 < (header.max_reconsume_times or 0)


def test_what_was_committed_in_a_transaction_does_not_become_a_half_message_again():
    dead = dead_letter(sys_flag=TRANSACTION_COMMIT_TYPE, RETRY_TOPIC="T", TRAN_MSG="true", PGROUP="p")
    header, properties = resent(dead, ResendTo.TOPIC)
    assert header.sys_flag & TRANSACTION_MASK == 0
    assert not {"TRAN_MSG", "PGROUP"} & set(properties)


def test_a_message_without_a_unique_id_is_found_again_by_its_place():
    dead = dead_letter(RETRY_TOPIC="T")
    assert resent(dead, ResendTo.TOPIC)[1]["UNIQ_KEY"] == dead.offset_message_id == dead.message_id


def test_one_that_does_not_know_its_topic_can_go_to_the_group_only():
    with pytest.raises(DeadLetterRefused, match="to the group only"):
        resend_request(dead_letter(), "g", ResendTo.TOPIC, now_ms=9)
    assert resent(dead_letter(), ResendTo.GROUP)[0].topic == "%RETRY%g"


def test_the_first_copy_that_names_a_dead_letter_is_what_it_was_resent_as():
    dead = dead_letter(offset=500, UNIQ_KEY="U")
    mark = dead.offset_message_id
    first = dead_letter(0, 600, UNIQ_KEY="U", RESENT_DEAD_LETTER=mark)
    retry = dead_letter(1, 700, UNIQ_KEY="U", RESENT_DEAD_LETTER=mark)
    other = dead_letter(0, 550, UNIQ_KEY="U")
    assert resent_as(dead, [retry, other, first]) is first
    assert resent_as(dead, [other]) is None
