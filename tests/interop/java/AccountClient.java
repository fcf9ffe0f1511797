import org.apache.rocketmq.acl.common.AclClientRPCHook;
import org.apache.rocketmq.acl.common.SessionCredentials;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;

/**
 * Sends messages as an account, with RocketMQ's own signing hook; each report is one line of JSON on standard output.
 *
 * <p>AccountClient NAME_SERVER GROUP TOPIC COUNT, with the keys in ACCESS_KEY and SECRET_KEY.
 */
public final class AccountClient {
    private static final int SEND_TIMEOUT_MS = 30_000;

    private AccountClient() {
    }

    public static void main(String[] args) throws Exception {
        SessionCredentials account = new SessionCredentials(System.getenv("ACCESS_KEY"), System.getenv("SECRET_KEY"));
        DefaultMQProducer producer = new DefaultMQProducer(args[1], new AclClientRPCHook(account));
        producer.setNamesrvAddr(args[0]);
        producer.setSendMsgTimeout(SEND_TIMEOUT_MS);
        producer.start();
        int count = Integer.parseInt(args[3]);
        try {
            for (int number = 0; number < count; number++) {
                SendResult result = producer.send(new Message(args[2], "TagA", ("message-" + number).getBytes("UTF-8")));
                System.out.printf("{\"event\": \"sent\", \"status\": \"%s\"}%n", result.getSendStatus());
            }
        } catch (MQClientException failed) {
            MQBrokerException refusal = (MQBrokerException) failed.getCause();
            System.out.printf("{\"event\": \"refused\", \"code\": %d, \"text\": \"%s\"}%n", refusal.getResponseCode(),
                refusal.getErrorMessage().replace('"', '\''));
        } finally {
            producer.shutdown();
        }
    }
}
