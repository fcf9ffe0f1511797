import java.nio.ByteBuffer;
import java.util.List;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;

/** LoadClient's push consumer, with the client's default settings; its listener only counts. */
final class LoadConsumer {
    private final String topic;
    private final LoadTally tally;
    private final DefaultMQPushConsumer consumer;

    LoadConsumer(String nameServer, String topic, String group, LoadTally tally) {
        this.topic = topic;
        this.tally = tally;
        consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(nameServer);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
    }

    void start(boolean isOrderly) throws Exception {
        consumer.subscribe(topic, "*");
        if (isOrderly) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                noteAll(messages);
                return ConsumeOrderlyStatus.SUCCESS;
            });
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
                noteAll(messages);
                return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            });
        }
        consumer.start();
    }

    void end() {
        consumer.shutdown();
    }

    private void noteAll(List<MessageExt> messages) {
        long nowNs = System.nanoTime();
        for (MessageExt message : messages) {
            ByteBuffer body = ByteBuffer.wrap(message.getBody());
            tally.consume(body.getInt(), nowNs - body.getLong(), nowNs);
        }
    }
}
