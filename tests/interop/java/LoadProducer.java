import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;

/**
 * Sends as fast as it can through the unmodified RocketMQ Java client, for machines without RocketMQ's own benchmark
 * programs. Binary headers, as those use.
 *
 * <p>LoadProducer NAME_SERVER TOPIC THREADS BODY_BYTES BATCH_SIZE WINDOW_SECONDS. Prints one line of JSON per window
 * with the messages that were acknowledged in it, until it is killed.
 */
public final class LoadProducer {
    public static void main(String[] args) throws Exception {
        System.setProperty("rocketmq.serialize.type", "ROCKETMQ");
        String topic = args[1];
        int threads = Integer.parseInt(args[2]);
        byte[] body = new byte[Integer.parseInt(args[3])];
        java.util.Arrays.fill(body, (byte) 'x');
        int batchSize = Integer.parseInt(args[4]);
        long windowMs = Long.parseLong(args[5]) * 1000;

        DefaultMQProducer producer = new DefaultMQProducer("load_producer");
        producer.setNamesrvAddr(args[0]);
        producer.setCompressMsgBodyOverHowmuch(Integer.MAX_VALUE);
        producer.start();
        LongAdder acknowledged = new LongAdder();
        LongAdder failed = new LongAdder();
        for (int i = 0; i < threads; i++) {
            Thread thread = new Thread(() -> sendForever(producer, topic, body, batchSize, acknowledged, failed));
            thread.setDaemon(true);
            thread.start();
        }
        while (true) {
            long startedNs = System.nanoTime();
            acknowledged.reset();
            Thread.sleep(windowMs);
            double seconds = (System.nanoTime() - startedNs) / 1e9;
            System.out.printf("{\"event\":\"window\",\"messages_per_second\":%.0f,\"failed\":%d}%n",
                acknowledged.sum() / seconds, failed.sum());
            System.out.flush();
        }
    }

    private static void sendForever(DefaultMQProducer producer, String topic, byte[] body, int batchSize,
                                    LongAdder acknowledged, LongAdder failed) {
        while (true) {
            try {
                if (batchSize == 1) {
                    producer.send(new Message(topic, body));
                } else {
                    List<Message> batch = new ArrayList<>(batchSize);
                    for (int i = 0; i < batchSize; i++) {
                        batch.add(new Message(topic, body));
                    }
                    producer.send(batch);
                }
                acknowledged.add(batchSize);
            } catch (Exception error) {
                failed.increment();
            }
        }
    }
}
