"""A message on its way into the store (RocketMQ: ``MessageExtBrokerInner``)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class StoreMessage:
    """Everything the commit log needs, in the form that costs least to write.

    :param topic: a valid topic name.
    :param queue_id: 0 or greater.
    :param body: as it will lie in the log, perhaps compressed.
    :param properties_string: name-value pairs as on the wire; bytes are taken as they are.
    :param born_host: where the sender is: ``"ip:port"``, or the 8 or 20 bytes of
        :func:`engine.protocol.message.addresses.encode_host`, which is faster.
    :param store_host: where this broker is, in the same form.
    :param tags_code: ``java_string_hash`` of the tags, 0 without. The store replaces it by the delivery time in
        the topic of delayed messages.
    :param keys: the KEYS property (words separated by spaces), for the index.
    :param unique_key: the UNIQ_KEY property, for the index.
    :param wait_store_ok: False when the sender does not wait for the flush; the store itself does not look at it.
    """

    topic: str
    queue_id: int
    body: bytes
    properties_string: str | bytes
    born_timestamp: int
    born_host: str | bytes
    store_host: str | bytes
    flag: int = 0
    sys_flag: int = 0
    tags_code: int = 0
    keys: str = ""
    unique_key: str = ""
    reconsume_times: int = 0
    prepared_transaction_offset: int = 0
    wait_store_ok: bool = True
    #: 1 and more in the topic of delayed messages, else 0.
    delay_level: int = 0
    #: True for a half message, which consumers do not see yet; the store itself does not look at it.
    is_prepared: bool = False
