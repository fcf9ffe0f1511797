"""Which processor answers which request code (RocketMQ: ``BrokerController.registerProcessor``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.broker.broker_admin_processor import BrokerAdminProcessor
from engine.broker.client_manage_processor import ClientManageProcessor
from engine.broker.consumer_manage_processor import ConsumerManageProcessor
from engine.broker.end_transaction_processor import EndTransactionProcessor
from engine.broker.group_admin_processor import GroupAdminProcessor
from engine.broker.query_message_processor import QueryMessageProcessor
from engine.broker.send_message_back_processor import SendMessageBackProcessor
from engine.broker.send_message_processor import SendMessageProcessor
from engine.broker.topic_admin_processor import TopicAdminProcessor
from engine.protocol.request_code import RequestCode

if TYPE_CHECKING:
    from engine.broker.broker import Broker


def register_processors(broker: Broker) -> None:
    """Tell the broker's server what it serves; every other code is answered with code 3."""
    send = SendMessageProcessor(broker)
    client_manage = ClientManageProcessor(broker)
    consumer_manage = ConsumerManageProcessor(broker)
    query = QueryMessageProcessor(broker)
    end_transaction = EndTransactionProcessor(broker)
    topic_admin = TopicAdminProcessor(broker)
    group_admin = GroupAdminProcessor(broker)
    broker_admin = BrokerAdminProcessor(broker)
    register = broker.server.register_processor
    register(RequestCode.SEND_MESSAGE, send.send_message)
    register(RequestCode.SEND_MESSAGE_V2, send.send_message)
    register(RequestCode.SEND_BATCH_MESSAGE, send.send_message)
    register(RequestCode.CONSUMER_SEND_MSG_BACK, SendMessageBackProcessor(broker).consumer_send_msg_back)
    register(RequestCode.END_TRANSACTION, end_transaction.end_transaction)
    register(RequestCode.RESUME_CHECK_HALF_MESSAGE, end_transaction.resume_check_half_message)
    register(RequestCode.PULL_MESSAGE, broker.pull_message_processor.pull_message)
    register(RequestCode.HEART_BEAT, client_manage.heart_beat)
    register(RequestCode.UNREGISTER_CLIENT, client_manage.unregister_client)
    register(RequestCode.CHECK_CLIENT_CONFIG, client_manage.check_client_config)
    register(RequestCode.GET_CONSUMER_LIST_BY_GROUP, consumer_manage.get_consumer_list_by_group)
    register(RequestCode.QUERY_CONSUMER_OFFSET, consumer_manage.query_consumer_offset)
    register(RequestCode.UPDATE_CONSUMER_OFFSET, consumer_manage.update_consumer_offset)
    register(RequestCode.LOCK_BATCH_MQ, consumer_manage.lock_batch_mq)
    register(RequestCode.UNLOCK_BATCH_MQ, consumer_manage.unlock_batch_mq)
    register(RequestCode.QUERY_MESSAGE, query.query_message)
    register(RequestCode.VIEW_MESSAGE_BY_ID, query.view_message_by_id)
    register(RequestCode.GET_MAX_OFFSET, query.get_max_offset)
    register(RequestCode.GET_MIN_OFFSET, query.get_min_offset)
    register(RequestCode.GET_EARLIEST_MSG_STORETIME, query.get_earliest_msg_storetime)
    register(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, query.search_offset_by_timestamp)
    register(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_admin.update_and_create_topic)
    register(RequestCode.GET_TOPIC_STATS_INFO, topic_admin.get_topic_stats_info)
    register(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, group_admin.update_and_create_subscription_group)
    register(RequestCode.GET_CONSUMER_CONNECTION_LIST, group_admin.get_consumer_connection_list)
    register(RequestCode.GET_PRODUCER_CONNECTION_LIST, group_admin.get_producer_connection_list)
    register(RequestCode.GET_CONSUME_STATS, group_admin.get_consume_stats)
    register(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, group_admin.query_topic_consume_by_who)
    register(RequestCode.GET_BROKER_CONFIG, broker_admin.get_broker_config)
    register(RequestCode.GET_BROKER_RUNTIME_INFO, broker_admin.get_broker_runtime_info)
