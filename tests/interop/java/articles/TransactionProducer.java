import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.message.Message;

/** TransactionProducer NAME_SERVER: three transfers. It runs on after them, to answer check-backs. */
public class TransactionProducer {
    public static void main(String[] args) throws Exception {
        TransactionMQProducer producer = new TransactionMQProducer("tpg");
        producer.setNamesrvAddr(args[0]);
        producer.setExecutorService(
            new ThreadPoolExecutor(2, 5, 100, TimeUnit.SECONDS, new ArrayBlockingQueue<>(2000),
                task -> new Thread(task, "client-transaction-msg-check-thread")));
        producer.setTransactionListener(new ICBCTransactionListener());
        producer.start();
        String[] tags = {"TAGA", "TAGB", "TAGC"};
        for (int i = 0; i < tags.length; i++) {
            Message message = new Message("TTopic", tags[i], ("Hi," + i).getBytes());
            System.out.println("发送结果为:" + producer.sendMessageInTransaction(message, null).getSendStatus());
        }
    }
}
