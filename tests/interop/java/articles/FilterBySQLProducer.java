import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;

/** FilterBySQLProducer NAME_SERVER: ten messages with ages from zero to nine. */
public class FilterBySQLProducer {
    public static void main(String[] args) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("pg");
        producer.setNamesrvAddr(args[0]);
        producer.start();
        for (int i = 0; i < 10; i++) {
            try {
                Message message = new Message("myTopic", "myTag", ("Hi," + i).getBytes());
                message.putUserProperty("age", String.valueOf(i));
                System.out.println(producer.send(message));
            } catch (Exception failure) {
                failure.printStackTrace();
            }
        }
        producer.shutdown();
    }
}
