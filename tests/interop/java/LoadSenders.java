import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.client.producer.TransactionSendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/** LoadClient's threads that send, through one producer. A failed send is not repeated, so that it can be counted. */
final class LoadSenders {
    private static final long END_DEADLINE_MS = 10_000;

    private final Map<String, String> options;
    private final String topic;
    private final String mode;
    private final LoadTally tally;
    private final long limit;
    private final int batchSize;
    private final int bodyBytes;
    private final int inFlight;
    private final Semaphore room;
    private final DefaultMQProducer producer;
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean isEnded;

    /** They end by themselves when so many messages were begun. */
    LoadSenders(String nameServer, Map<String, String> options, LoadTally tally, long limit) {
        this.options = options;
        this.tally = tally;
        this.limit = limit;
        topic = options.get("topic");
        mode = options.get("mode");
        batchSize = Integer.parseInt(options.get("batch"));
        bodyBytes = Integer.parseInt(options.get("body"));
        inFlight = Integer.parseInt(options.get("in_flight"));
        room = new Semaphore(inFlight);
        producer = mode.equals("transactions") ? transactional() : new DefaultMQProducer("load_producer");
        producer.setNamesrvAddr(nameServer);
        producer.setRetryTimesWhenSendFailed(0);
        producer.setRetryTimesWhenSendAsyncFailed(0);
    }

    void start() throws Exception {
        producer.start();
        for (int i = 0; i < Integer.parseInt(options.get("threads")); i++) {
            Thread thread = new Thread(mode.equals("latency") ? this::sendPaced : this::sendUntilEnded, "sender " + i);
            threads.add(thread);
            thread.start();
        }
    }

    /** Returns when the last reply is there. */
    void end() throws Exception {
        isEnded = true;
        awaitEnd();
    }

    void awaitEnd() throws Exception {
        for (Thread thread : threads) {
            thread.join();
        }
        if (!room.tryAcquire(inFlight, END_DEADLINE_MS, TimeUnit.MILLISECONDS)) {
            throw new IllegalStateException("replies to asynchronous sends are missing");
        }
    }

    private void sendUntilEnded() {
        while (!isEnded && tally.begun() < limit) {
            Message[] messages = new Message[batchSize];
            int[] numbers = new int[batchSize];
            for (int i = 0; i < batchSize; i++) {
                numbers[i] = tally.takeNumber();
                messages[i] = message(numbers[i]);
            }
            if (mode.equals("async")) {
                sendAsync(messages[0], numbers[0]);
            } else {
                send(messages, numbers);
            }
        }
    }

    /** So many a second, whether or not replies come: a broker that stands still shows. */
    private void sendPaced() {
        long perMessageNs = 1_000_000_000L / Long.parseLong(options.get("rate"));
        long beganNs = System.nanoTime();
        for (long sent = 0; !isEnded; sent++) {
            long dueNs = beganNs + sent * perMessageNs;
            for (long left = dueNs - System.nanoTime(); left > 0; left = dueNs - System.nanoTime()) {
                LockSupport.parkNanos(left);
            }
            int number = tally.takeNumber();
            sendAsync(message(number), number);
        }
    }

    private Message message(int number) {
        byte[] body = new byte[bodyBytes];
        Arrays.fill(body, (byte) 'x');
        ByteBuffer.wrap(body).putInt(number).putLong(System.nanoTime());
        return new Message(topic, body);
    }

    private void send(Message[] messages, int[] numbers) {
        try {
            SendResult result = sendNow(messages);
            boolean isCommitted = !(result instanceof TransactionSendResult)
                || ((TransactionSendResult) result).getLocalTransactionState() == LocalTransactionState.COMMIT_MESSAGE;
            note(result.getSendStatus() == SendStatus.SEND_OK && isCommitted, numbers);
        } catch (Exception error) {
            note(false, numbers);
        }
    }

    private SendResult sendNow(Message[] messages) throws Exception {
        if (producer instanceof TransactionMQProducer) {
            return producer.sendMessageInTransaction(messages[0], null);
        }
        return batchSize == 1 ? producer.send(messages[0]) : producer.send(Arrays.asList(messages));
    }

    private void sendAsync(Message message, int number) {
        room.acquireUninterruptibly();
        try {
            producer.send(message, new SendCallback() {
                @Override
                public void onSuccess(SendResult result) {
                    note(result.getSendStatus() == SendStatus.SEND_OK, number);
                    room.release();
                }

                @Override
                public void onException(Throwable error) {
                    note(false, number);
                    room.release();
                }
            });
        } catch (Exception error) {
            note(false, number);
            room.release();
        }
    }

    private void note(boolean isAcknowledged, int... numbers) {
        if (isAcknowledged) {
            tally.acknowledge(numbers);
        } else {
            tally.failed.add(numbers.length);
        }
    }

    private static TransactionMQProducer transactional() {
        TransactionMQProducer producer = new TransactionMQProducer("load_producer");
        producer.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
                return LocalTransactionState.COMMIT_MESSAGE;
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                return LocalTransactionState.COMMIT_MESSAGE;
            }
        });
        return producer;
    }
}
