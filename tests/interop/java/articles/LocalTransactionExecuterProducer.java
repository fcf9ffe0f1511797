import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.LocalTransactionExecuter;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.message.Message;

/**
 * LocalTransactionExecuterProducer NAME_SERVER: the local transaction is an argument of each send, as it was before
 * there was a TransactionListener. It runs on after its messages, to answer check-backs.
 */
public class LocalTransactionExecuterProducer {
    public static void main(String[] args) throws Exception {
        TransactionMQProducer producer = new TransactionMQProducer("executers");
        producer.setNamesrvAddr(args[0]);
        try {
            producer.sendMessageInTransaction(transfer("TAGA"), (message, argument) -> null, null);
        } catch (MQClientException refused) {
            System.out.println("refused: " + refused.getErrorMessage());
        }
        producer.setTransactionCheckListener(message -> {
            System.out.println("checked " + message.getTags());
            return LocalTransactionState.COMMIT_MESSAGE;
        });
        producer.start();
        send(producer, "TAGA", (message, argument) -> LocalTransactionState.COMMIT_MESSAGE);
        send(producer, "TAGB", (message, argument) -> LocalTransactionState.ROLLBACK_MESSAGE);
        send(producer, "TAGC", (message, argument) -> null);
        send(producer, "TAGD", (message, argument) -> {
            throw new IllegalStateException("the database is away");
        });
    }

    private static Message transfer(String tag) {
        return new Message("TTopic", tag, "transfer".getBytes());
    }

    private static void send(TransactionMQProducer producer, String tag, LocalTransactionExecuter executer)
        throws MQClientException {
        System.out.println(
            tag + " " + producer.sendMessageInTransaction(transfer(tag), executer, null).getLocalTransactionState());
    }
}
