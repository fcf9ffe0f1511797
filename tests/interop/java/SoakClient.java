import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.client.producer.TransactionSendResult;
import org.apache.rocketmq.client.producer.selector.SelectMessageQueueByHash;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Java's part of the soak (tests/soak), on the unmodified client: senders of some streams and consumers of others, until
 * it is killed. SIGUSR1 ends the senders. Reports one line of JSON per event.
 *
 * <p>SoakClient NAME_SERVER (send|consume):STREAM:KIND:TOPIC:GROUP ...
 */
public final class SoakClient {
    private static final long PACE_MS = 20;
    private static final long PAUSE_MS = 200;
    private static final int REFUSES_EVERY = 10;
    /** How often it asks where the broker is; the client's own default. */
    private static final int POLL_MS = Integer.getInteger("poll.ms", 30_000);
    private static volatile boolean isEnded;

    private final String nameServer;
    private final String stream;
    private final String kind;
    private final String topic;
    private final String group;

    private SoakClient(String nameServer, String[] words) {
        this.nameServer = nameServer;
        stream = words[1];
        kind = words[2];
        topic = words[3];
        group = words[4];
    }

    public static void main(String[] args) throws Exception {
        sun.misc.Signal.handle(new sun.misc.Signal("USR1"), signal -> isEnded = true);
        for (String work : Arrays.asList(args).subList(1, args.length)) {
            String[] words = work.split(":");
            SoakClient client = new SoakClient(args[0], words);
            if (words[0].equals("consume")) {
                client.consume();
            } else {
                client.start();
            }
        }
        print("{\"event\":\"ready\"}");
        Thread.currentThread().join();
    }

    private void start() throws Exception {
        boolean isTransactional = kind.equals("transactions");
        DefaultMQProducer producer =
            isTransactional ? transactional() : new DefaultMQProducer(group + "_sender");
        producer.setNamesrvAddr(nameServer);
        producer.setInstanceName(stream);
        producer.setPollNameServerInterval(POLL_MS);
        producer.start();
        new Thread(() -> sendUntilEnded(producer), "sends " + stream).start();
    }

    private void sendUntilEnded(DefaultMQProducer producer) {
        for (int number = 0; !isEnded; number++) {
            long began = System.nanoTime();
            boolean isSent = false;
            try {
                SendResult result = send(producer, number);
                double passed = (System.nanoTime() - began) / 1e6;
                boolean isRolledBack = result instanceof TransactionSendResult
                    && ((TransactionSendResult) result).getLocalTransactionState() == LocalTransactionState.ROLLBACK_MESSAGE;
                print(String.format(
                    "{\"event\":\"sent\",\"stream\":\"%s\",\"number\":%d,\"status\":%d,\"ms\":%.2f,\"rolled_back\":%b}",
                    stream, number, result.getSendStatus() == SendStatus.SEND_OK ? 0 : 1, passed, isRolledBack));
                isSent = true;
            } catch (Exception error) {
                print(String.format("{\"event\":\"failed\",\"stream\":\"%s\",\"number\":%d,\"error\":\"%s\"}",
                    stream, number, error.getClass().getSimpleName()));
            }
            try {
                Thread.sleep(isSent ? PACE_MS : PAUSE_MS);
            } catch (InterruptedException stopped) {
                return;
            }
        }
    }

    private SendResult send(DefaultMQProducer producer, int number) throws Exception {
        Message message = new Message(topic, "", "key-" + number, (stream + "-" + number).getBytes());
        message.putUserProperty("number", String.valueOf(number));
        if (producer instanceof TransactionMQProducer) {
            return producer.sendMessageInTransaction(message, null);
        }
        return kind.equals("orderly")
            ? producer.send(message, new SelectMessageQueueByHash(), number % 100)
            : producer.send(message);
    }

    /** Every fifth is rolled back, every fifth is not known until the broker asks, the rest is committed. */
    private TransactionMQProducer transactional() {
        Set<Integer> executed = ConcurrentHashMap.newKeySet();
        TransactionMQProducer producer = new TransactionMQProducer(group + "_sender");
        producer.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
                int number = number(message);
                if (number % 5 == 0) {
                    return LocalTransactionState.ROLLBACK_MESSAGE;
                }
                executed.add(number);
                return number % 5 == 1 ? LocalTransactionState.UNKNOW : LocalTransactionState.COMMIT_MESSAGE;
            }

            /** Whose half message was stored, but not acknowledged, was not begun. */
            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                return executed.contains(number(message))
                    ? LocalTransactionState.COMMIT_MESSAGE : LocalTransactionState.ROLLBACK_MESSAGE;
            }
        });
        return producer;
    }

    private void consume() throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(nameServer);
        consumer.setInstanceName(stream);
        consumer.setPollNameServerInterval(POLL_MS);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        if (kind.equals("orderly")) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                messages.forEach(this::note);
                return ConsumeOrderlyStatus.SUCCESS;
            });
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) ->
                noteAll(messages) ? ConsumeConcurrentlyStatus.CONSUME_SUCCESS : ConsumeConcurrentlyStatus.RECONSUME_LATER);
        }
        consumer.start();
    }

    private boolean noteAll(List<MessageExt> messages) {
        boolean isGood = true;
        for (MessageExt message : messages) {
            isGood &= note(message);
        }
        return isGood;
    }

    /** False for what is refused: every tenth message of a stream with retries, the first time. */
    private boolean note(MessageExt message) {
        int number = number(message);
        boolean isRefused =
            kind.equals("retries") && number % REFUSES_EVERY == 0 && message.getReconsumeTimes() == 0;
        print(String.format(
            "{\"event\":\"message\",\"stream\":\"%s\",\"number\":%d,\"queue\":%d,\"offset\":%d,\"refused\":%b}",
            stream, number, message.getQueueId(), message.getQueueOffset(), isRefused));
        return !isRefused;
    }

    private static int number(Message message) {
        return Integer.parseInt(message.getUserProperty("number"));
    }

    /** One write per line: many threads report at the same time. */
    private static synchronized void print(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
