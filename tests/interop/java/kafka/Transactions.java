import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Kafka's own client: transactions over all {@code topics}, one committed, one aborted, one left open; then another
 * process with the same transactional id, which fences the first.
 */
public class Transactions {
    private static String address;
    private static List<String> topics;

    public static void main(String[] arguments) {
        address = arguments[0];
        topics = List.of(arguments).subList(1, arguments.length);
        try (var first = producer()) {
            send(first, "paid");
            first.commitTransaction();
            send(first, "never");
            first.flush();
            first.abortTransaction();
            send(first, "left");
            first.flush();
            try (var second = producer()) {
                send(second, "sent");
                second.commitTransaction();
            }
            try {
                first.commitTransaction();
            } catch (KafkaException fenced) {
                System.out.println("fenced");
            }
        }
        for (String topic : topics) {
            System.out.println("committed " + topic + ": " + String.join(", ", read(topic, "read_committed", 2)));
            System.out.println("all " + topic + ": " + String.join(", ", read(topic, "read_uncommitted", 4)));
        }
    }

    private static KafkaProducer<String, String> producer() {
        Map<String, Object> settings = Map.of("bootstrap.servers", address, "transactional.id", "shop");
        var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
        producer.initTransactions();
        return producer;
    }

    private static void send(KafkaProducer<String, String> producer, String value) {
        producer.beginTransaction();
        for (String topic : topics) {
            producer.send(new ProducerRecord<>(topic, 0, "key", value));
        }
    }

    private static List<String> read(String topic, String isolation, int count) {
        Map<String, Object> settings = Map.of("bootstrap.servers", address, "isolation.level", isolation);
        var partition = new TopicPartition(topic, 0);
        List<String> values = new ArrayList<>();
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            for (int polls = 0; polls < 6 && values.size() < count; polls++) {
                consumer.poll(Duration.ofSeconds(5)).forEach(record -> values.add(record.value()));
            }
            consumer.poll(Duration.ofMillis(200)).forEach(record -> values.add(record.value()));
        }
        return values;
    }
}
