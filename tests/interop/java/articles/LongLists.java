import java.util.ArrayList;
import java.util.List;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;

/**
 * LongLists NAME_SERVER BODY_BYTES...: of bodies of each size a list that fills a batch and a half, cut by both
 * splitters. Prints the splitter, the size, and what became of each batch.
 */
public class LongLists {
    private static final int LIST_BYTES = 6 * 1024 * 1024;

    public static void main(String[] args) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("pg");
        producer.setNamesrvAddr(args[0]);
        producer.setSendMsgTimeout(60_000);
        producer.start();
        for (int i = 1; i < args.length; i++) {
            int bodyBytes = Integer.parseInt(args[i]);
            System.out.println("printed " + bodyBytes + send(producer, new MessageListSplitter(messages(bodyBytes))));
            System.out.println("mended " + bodyBytes + send(producer, new MendedListSplitter(messages(bodyBytes))));
        }
        producer.shutdown();
    }

    private static List<Message> messages(int bodyBytes) {
        List<Message> messages = new ArrayList<>();
        int messageBytes = new MessageListSplitter(messages).sizeOf(message(bodyBytes));
        while (messages.size() < LIST_BYTES / messageBytes) {
            messages.add(message(bodyBytes));
        }
        return messages;
    }

    private static Message message(int bodyBytes) {
        return new Message("someTopic", "someTag", new byte[bodyBytes]);
    }

    private static String send(DefaultMQProducer producer, MessageListSplitter splitter) throws Exception {
        StringBuilder outcomes = new StringBuilder();
        while (splitter.hasNext()) {
            try {
                outcomes.append(' ').append(producer.send(splitter.next()).getSendStatus());
            } catch (MQClientException refused) {
                outcomes.append(" [").append(refused.getMessage().split("\n")[0]).append(']');
            }
        }
        return outcomes.toString();
    }
}
