import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;

/** FilterByTagProducer NAME_SERVER: ten messages with three tags in turn. */
public class FilterByTagProducer {
    public static void main(String[] args) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("pg");
        producer.setNamesrvAddr(args[0]);
        producer.start();
        String[] tags = {"myTagA", "myTagB", "myTagC"};
        for (int i = 0; i < 10; i++) {
            Message message = new Message("myTopic", tags[i % tags.length], ("Hi," + i).getBytes());
            System.out.println(producer.send(message));
        }
        producer.shutdown();
    }
}
