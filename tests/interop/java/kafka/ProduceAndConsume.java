import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Kafka's own client: sends {@code count} records with a codec, commits the offset in the middle, and reads on from there. */
public class ProduceAndConsume {
    public static void main(String[] arguments) throws Exception {
        String address = arguments[0], topic = arguments[1], codec = arguments[2];
        int count = Integer.parseInt(arguments[3]);
        var strings = new StringSerializer();
        Map<String, Object> sending = Map.of("bootstrap.servers", address, "compression.type", codec);
        try (var producer = new KafkaProducer<>(sending, strings, strings)) {
            for (int number = 0; number < count; number++) {
                producer.send(new ProducerRecord<>(topic, 0, "order-" + number, "paid " + number));
            }
        }
        Map<String, Object> reading = Map.of("bootstrap.servers", address, "group.id", "readers-" + codec,
            "enable.auto.commit", false, "auto.offset.reset", "earliest");
        var partition = new TopicPartition(topic, 0);
        try (var consumer = new KafkaConsumer<>(reading, new StringDeserializer(), new StringDeserializer())) {
            consumer.assign(List.of(partition));
            consumer.commitSync(Map.of(partition, new OffsetAndMetadata(count / 2)));
        }
        try (var consumer = new KafkaConsumer<>(reading, new StringDeserializer(), new StringDeserializer())) {
            consumer.assign(List.of(partition));
            for (int next = count / 2; next < count;) {
                for (var record : consumer.poll(Duration.ofSeconds(10))) {
                    System.out.println(record.offset() + " " + record.key() + " " + record.value());
                    next++;
                }
            }
        }
    }
}
