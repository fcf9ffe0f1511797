"""A message on its way into the store (RocketMQ: ``MessageExtBrokerInner``)."""

from __future__ import annotations


class StoreMessage:
    """A message in the form that is cheapest to write to the commit log.

    :param topic: a valid topic name.
    :param queue_id: 0 or greater.
    :param body: as it will be stored, perhaps compressed.
    :param properties_string: name-value pairs as on the wire; bytes are taken as they are.
    :param born_host: where the sender is: ``"ip:port"``, or the 8 or 20 bytes of
        :func:`engine.protocol.message.addresses.encode_host`, which is faster.
    :param store_host: where this broker is, in the same form.
    :param tags_code: ``java_string_hash`` of the tags, 0 without. The store replaces it by the delivery time in
        the topic of delayed messages.
    :param keys: the KEYS property (words separated by spaces), for the index.
    :param unique_key: the UNIQ_KEY property, for the index.
    :param wait_store_ok: False if the sender does not wait for the flush; the store itself ignores it.
    :param delay_level: 1 and more in the topic of delayed messages, else 0.
    :param is_prepared: it is a half message, which is not yet visible to consumers; the store itself ignores it.
    """

    __slots__ = (
        "body",
        "born_host",
        "born_timestamp",
        "delay_level",
        "flag",
        "is_prepared",
        "keys",
        "prepared_transaction_offset",
        "properties_string",
        "queue_id",
        "reconsume_times",
        "store_host",
        "sys_flag",
        "tags_code",
        "topic",
        "unique_key",
        "wait_store_ok",
    )

    def __init__(
        self,
        topic: str,
        queue_id: int,
        body: bytes,
        properties_string: str | bytes,
        born_timestamp: int,
        born_host: str | bytes,
        store_host: str | bytes,
        flag: int = 0,
        sys_flag: int = 0,
        tags_code: int = 0,
        keys: str = "",
        unique_key: str = "",
        reconsume_times: int = 0,
        prepared_transaction_offset: int = 0,
        wait_store_ok: bool = True,
        delay_level: int = 0,
        is_prepared: bool = False,
    ) -> None:
        self.topic = topic
        self.queue_id = queue_id
        self.body = body
        self.properties_string = properties_string
        self.born_timestamp = born_timestamp
        self.born_host = born_host
        self.store_host = store_host
        self.flag = flag
        self.sys_flag = sys_flag
        self.tags_code = tags_code
        self.keys = keys
        self.unique_key = unique_key
        self.reconsume_times = reconsume_times
        self.prepared_transaction_offset = prepared_transaction_offset
        self.wait_store_ok = wait_store_ok
        #: 1 and more in the topic of delayed messages, else 0.
        self.delay_level = delay_level
        #: True for a half message, which is not yet visible to consumers; the store itself ignores it.
        self.is_prepared = is_prepared
