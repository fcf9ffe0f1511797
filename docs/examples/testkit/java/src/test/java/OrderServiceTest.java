import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class OrderServiceTest {
    @RegisterExtension
    static final GlassMQ glassmq = new GlassMQ();

    private DefaultMQProducer producer;

    /** The service under test. */
    private void place(String order) throws Exception {
        producer.send(new Message("orders", "placed", order, "10".getBytes(StandardCharsets.UTF_8)));
    }

    @BeforeEach
    void start() throws Exception {
        producer = new DefaultMQProducer("shop");
        producer.setNamesrvAddr(glassmq.nameServer());
        producer.start();
    }

    @AfterEach
    void stop() {
        producer.shutdown();
    }

    @Test
    void anOrderIsAnnounced() throws Exception {
        place("17");
        glassmq.post("/assert-sent", "{\"topic\": \"orders\", \"key\": \"17\", \"tag\": \"placed\", \"count\": 1}");
    }

    @Test
    void anOrderIsAnnouncedAlthoughTheBrokerRefusesTheFirstRequest() throws Exception {
        glassmq.post("/faults", "{\"what\": \"reject\", \"frame\": \"SEND_MESSAGE_V2\", \"times\": 1}");
        place("17");
        glassmq.post("/assert-sent", "{\"topic\": \"orders\", \"key\": \"17\"}");
        assertTrue(glassmq.get("/faults").contains("\"hits\":1"));
    }
}
