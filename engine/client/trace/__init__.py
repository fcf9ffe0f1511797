"""Message trace (RocketMQ: ``org.apache.rocketmq.client.trace``): clients record in a topic what they did with each
message.

A producer or push consumer with ``enable_msg_trace`` records every message that it sent and every delivery, and sends
its records in batches to ``RMQ_SYS_TRACE_TOPIC``. There they are found by the message's id: ``glassmq trace``,
``mqadmin queryMsgTraceById``. The records come from clients only: they do not show what the broker did in between, and
a client that crashes loses its last half second.
"""
