"""Which processor answers which request code (RocketMQ: ``BrokerController.registerProcessor``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.broker.processors.acl_admin_processor import AclAdminProcessor
from engine.broker.processors.broker_admin_processor import BrokerAdminProcessor
from engine.broker.processors.client_admin_processor import ClientAdminProcessor
from engine.broker.processors.client_manage_processor import ClientManageProcessor
from engine.broker.processors.consumer_manage_processor import ConsumerManageProcessor
from engine.broker.processors.group_admin_processor import GroupAdminProcessor
from engine.broker.processors.offset_admin_processor import OffsetAdminProcessor
from engine.broker.processors.query_message_processor import QueryMessageProcessor
from engine.broker.processors.reply_message_processor import ReplyMessageProcessor
from engine.broker.processors.send_message_back_processor import SendMessageBackProcessor
from engine.broker.processors.send_message_processor import SendMessageProcessor
from engine.broker.processors.store_admin_processor import StoreAdminProcessor
from engine.broker.processors.topic_admin_processor import TopicAdminProcessor
from engine.broker.transactions.end_transaction_processor import EndTransactionProcessor
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
    register = broker.server.register_processor
    register(RequestCode.SEND_MESSAGE, send.send_message)
    register(RequestCode.SEND_MESSAGE_V2, send.send_message)
    register(RequestCode.SEND_BATCH_MESSAGE, send.send_message)
    reply = ReplyMessageProcessor(broker)
    register(RequestCode.SEND_REPLY_MESSAGE, reply.send_reply_message)
    register(RequestCode.SEND_REPLY_MESSAGE_V2, reply.send_reply_message)
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
    _register_topic_and_group_tools(broker)
    _register_broker_and_client_tools(broker)


def _register_topic_and_group_tools(broker: Broker) -> None:
    """What mqadmin and dashboards ask about topics, groups and their offsets."""
    topic_admin = TopicAdminProcessor(broker)
    group_admin = GroupAdminProcessor(broker)
    offset_admin = OffsetAdminProcessor(broker)
    register = broker.server.register_processor
    register(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_admin.update_and_create_topic)
    register(RequestCode.DELETE_TOPIC_IN_BROKER, topic_admin.delete_topic)
    register(RequestCode.GET_ALL_TOPIC_CONFIG, topic_admin.get_all_topic_config)
    register(RequestCode.GET_TOPIC_STATS_INFO, topic_admin.get_topic_stats_info)
    register(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, topic_admin.query_topic_consume_by_who)
    register(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER, topic_admin.get_system_topic_list)
    register(RequestCode.CLEAN_UNUSED_TOPIC, topic_admin.clean_unused_topic)
    register(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, group_admin.update_and_create_subscription_group)
    register(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, group_admin.get_all_subscription_group)
    register(RequestCode.DELETE_SUBSCRIPTIONGROUP, group_admin.delete_subscription_group)
    register(RequestCode.GET_CONSUME_STATS, group_admin.get_consume_stats)
    register(RequestCode.GET_BROKER_CONSUME_STATS, group_admin.get_broker_consume_stats)
    register(RequestCode.QUERY_CONSUME_TIME_SPAN, group_admin.query_consume_time_span)
    register(RequestCode.GET_ALL_CONSUMER_OFFSET, offset_admin.get_all_consumer_offset)
    register(RequestCode.GET_ALL_DELAY_OFFSET, offset_admin.get_all_delay_offset)
    register(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, offset_admin.invoke_broker_to_reset_offset)
    register(RequestCode.CLONE_GROUP_OFFSET, offset_admin.clone_group_offset)
    register(RequestCode.QUERY_CORRECTION_OFFSET, offset_admin.query_correction_offset)


def _register_broker_and_client_tools(broker: Broker) -> None:
    """What mqadmin and dashboards ask about the broker, its files, its rules and its clients."""
    broker_admin = BrokerAdminProcessor(broker)
    store_admin = StoreAdminProcessor(broker)
    client_admin = ClientAdminProcessor(broker)
    acl_admin = AclAdminProcessor(broker)
    register = broker.server.register_processor
    register(RequestCode.UPDATE_BROKER_CONFIG, broker_admin.update_broker_config)
    register(RequestCode.GET_BROKER_CONFIG, broker_admin.get_broker_config)
    register(RequestCode.GET_BROKER_RUNTIME_INFO, broker_admin.get_broker_runtime_info)
    register(RequestCode.VIEW_BROKER_STATS_DATA, broker_admin.view_broker_stats_data)
    register(RequestCode.QUERY_CONSUME_QUEUE, store_admin.query_consume_queue)
    register(RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE, store_admin.clean_expired_consume_queue)
    register(RequestCode.DELETE_EXPIRED_COMMITLOG, store_admin.delete_expired_commit_log)
    register(RequestCode.GET_CONSUMER_CONNECTION_LIST, client_admin.get_consumer_connection_list)
    register(RequestCode.GET_PRODUCER_CONNECTION_LIST, client_admin.get_producer_connection_list)
    register(RequestCode.GET_ALL_PRODUCER_INFO, client_admin.get_all_producer_info)
    register(RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, client_admin.get_consumer_status)
    register(RequestCode.GET_CONSUMER_RUNNING_INFO, client_admin.get_consumer_running_info)
    register(RequestCode.CONSUME_MESSAGE_DIRECTLY, client_admin.consume_message_directly)
    register(RequestCode.UPDATE_AND_CREATE_ACL_CONFIG, acl_admin.update_access_config)
    register(RequestCode.DELETE_ACL_CONFIG, acl_admin.delete_access_config)
    register(RequestCode.GET_BROKER_CLUSTER_ACL_INFO, acl_admin.get_broker_acl_config_version)
    register(RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG, acl_admin.update_global_white_addrs_config)
