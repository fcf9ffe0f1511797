"""Message trace (RocketMQ: ``org.apache.rocketmq.client.trace``): clients tell a topic what they did with each message.

A producer or push consumer with ``enable_msg_trace`` notes every message it sent and every delivery, and sends its
notes, many together, to ``RMQ_SYS_TRACE_TOPIC``. There they are found by the message's id: ``glassmq trace``, ``mqadmin
queryMsgTraceById``. The notes are the clients' own: what the broker did in between they do not say, and a client that
dies takes its last half second along.
"""
