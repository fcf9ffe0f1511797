import java.util.ArrayList;
import java.util.List;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;

/** BatchProducer NAME_SERVER: a hundred messages, in as many batches as the splitter makes. Prints failures only. */
public class BatchProducer {
    public static void main(String[] args) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("pg");
        producer.setNamesrvAddr(args[0]);
        producer.start();
        List<Message> messages = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            messages.add(new Message("someTopic", "someTag", ("Hi," + i).getBytes()));
        }
        MessageListSplitter splitter = new MessageListSplitter(messages);
        while (splitter.hasNext()) {
            try {
                producer.send(splitter.next());
            } catch (Exception failure) {
                failure.printStackTrace();
            }
        }
        producer.shutdown();
    }
}
