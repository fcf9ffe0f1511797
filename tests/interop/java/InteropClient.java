import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.client.producer.selector.SelectMessageQueueByHash;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.common.protocol.heartbeat.MessageModel;

/**
 * Drives the unmodified RocketMQ Java client; each report is one line of JSON on standard output.
 *
 * <p>InteropClient ACTION NAME_SERVER GROUP TOPIC [COUNT] where ACTION is sync, async, oneway, selected (message n goes
 * to the queue of key n modulo 100), delayed (message n with delay level n + 1), batch (sends COUNT messages in batches
 * of 16), push, failing (push, and no message is consumed), orderly, broadcast (these run until they are killed), pull,
 * lite-pull (both end when COUNT messages were read), transaction (sends one message, whose local transaction takes
 * COUNT ms and commits; runs until it is killed, to answer check-backs).
 */
public final class InteropClient {
    private static final int BATCH_SIZE = 16;
    private static final int KEYS = 100;
    private static final long DEADLINE_MS = 60_000;
    /** The library's default of 3 s would turn a stall of a busy machine into a failed or a repeated send. */
    private static final int SEND_TIMEOUT_MS = 30_000;

    private final String nameServer;
    private final String group;
    private final String topic;
    private final int count;

    private InteropClient(String[] args) {
        nameServer = args[1];
        group = args[2];
        topic = args[3];
        count = args.length > 4 ? Integer.parseInt(args[4]) : 0;
    }

    public static void main(String[] args) throws Exception {
        InteropClient client = new InteropClient(args);
        switch (args[0]) {
            case "sync":
            case "async":
            case "oneway":
            case "selected":
            case "batch":
            case "delayed":
                client.send(args[0]);
                break;
            case "push":
                client.push(MessageModel.CLUSTERING, ConsumeConcurrentlyStatus.CONSUME_SUCCESS);
                return;
            case "failing":
                client.push(MessageModel.CLUSTERING, ConsumeConcurrentlyStatus.RECONSUME_LATER);
                return;
            case "orderly":
                client.pushOrderly();
                return;
            case "broadcast":
                client.push(MessageModel.BROADCASTING, ConsumeConcurrentlyStatus.CONSUME_SUCCESS);
                return;
            case "transaction":
                client.sendInTransaction();
                return;
            case "pull":
                client.pull();
                break;
            case "lite-pull":
                client.litePull();
                break;
            default:
                throw new IllegalArgumentException("no such action: " + args[0]);
        }
        report("{\"event\":\"done\"}");
        System.exit(0);
    }

    private void send(String mode) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer(group);
        producer.setNamesrvAddr(nameServer);
        producer.setSendMsgTimeout(SEND_TIMEOUT_MS);
        producer.start();
        report("{\"event\":\"ready\"}");
        if (mode.equals("async")) {
            sendAsync(producer);
        } else if (mode.equals("batch")) {
            sendBatches(producer);
        } else {
            for (int number = 0; number < count; number++) {
                if (mode.equals("oneway")) {
                    producer.sendOneway(message(number));
                } else if (mode.equals("selected")) {
                    reportSent(producer.send(message(number), new SelectMessageQueueByHash(), number % KEYS));
                } else {
                    Message message = message(number);
                    if (mode.equals("delayed")) {
                        message.setDelayTimeLevel(number + 1);
                    }
                    reportSent(producer.send(message));
                }
            }
        }
        producer.shutdown();
    }

    private void sendAsync(DefaultMQProducer producer) throws Exception {
        CountDownLatch answered = new CountDownLatch(count);
        for (int number = 0; number < count; number++) {
            producer.send(message(number), new SendCallback() {
                @Override
                public void onSuccess(SendResult result) {
                    reportSent(result);
                    answered.countDown();
                }

                @Override
                public void onException(Throwable error) {
                    report("{\"event\":\"failed\",\"error\":\"" + error.getClass().getName() + "\"}");
                    answered.countDown();
                }
            });
        }
        if (!answered.await(DEADLINE_MS, TimeUnit.MILLISECONDS)) {
            throw new IllegalStateException(answered.getCount() + " callbacks never came");
        }
    }

    private void sendBatches(DefaultMQProducer producer) throws Exception {
        for (int first = 0; first < count; first += BATCH_SIZE) {
            List<Message> batch = new ArrayList<>();
            for (int number = first; number < Math.min(first + BATCH_SIZE, count); number++) {
                batch.add(message(number));
            }
            reportSent(producer.send(batch));
        }
    }

    private void sendInTransaction() throws Exception {
        AtomicBoolean isCommitted = new AtomicBoolean();
        TransactionMQProducer producer = new TransactionMQProducer(group);
        producer.setNamesrvAddr(nameServer);
        producer.setSendMsgTimeout(SEND_TIMEOUT_MS);
        producer.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
                try {
                    Thread.sleep(count);
                } catch (InterruptedException stopped) {
                    return LocalTransactionState.ROLLBACK_MESSAGE;
                }
                isCommitted.set(true);
                return LocalTransactionState.COMMIT_MESSAGE;
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                LocalTransactionState state =
                    isCommitted.get() ? LocalTransactionState.COMMIT_MESSAGE : LocalTransactionState.UNKNOW;
                report(String.format("{\"event\":\"checked\",\"state\":\"%s\",\"half_offset\":%d,\"log_offset\":%d}",
                    state, message.getQueueOffset(), message.getCommitLogOffset()));
                return state;
            }
        });
        producer.start();
        report("{\"event\":\"ready\"}");
        reportSent(producer.sendMessageInTransaction(message(0), null));
    }

    private Message message(int number) {
        Message message = new Message(topic, "TagA", "key-" + number, ("message-" + number).getBytes());
        message.putUserProperty("number", String.valueOf(number));
        return message;
    }

    private void push(MessageModel model, ConsumeConcurrentlyStatus answer) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(nameServer);
        consumer.setMessageModel(model);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            messages.forEach(InteropClient::reportReceived);
            return answer;
        });
        consumer.start();
        report("{\"event\":\"ready\"}");
    }

    private void pushOrderly() throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(nameServer);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
            messages.forEach(InteropClient::reportConsumed);
            return ConsumeOrderlyStatus.SUCCESS;
        });
        consumer.start();
        report("{\"event\":\"ready\"}");
    }

    /** With the times of the listener call: nanoTime is the machine's clock, the same in all processes (Linux). */
    private static void reportConsumed(MessageExt message) {
        long began = System.nanoTime();
        report(String.format(
            "{\"event\":\"message\",\"body\":\"%s\",\"queue\":%d,\"offset\":%d,\"number\":%s,\"began_ns\":%d,\"ended_ns\":%d}",
            new String(message.getBody()), message.getQueueId(), message.getQueueOffset(),
            message.getUserProperty("number"), began, System.nanoTime()));
    }

    private void pull() throws Exception {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer(group);
        consumer.setNamesrvAddr(nameServer);
        consumer.start();
        report("{\"event\":\"ready\"}");
        Set<MessageQueue> queues = consumer.fetchSubscribeMessageQueues(topic);
        for (MessageQueue queue : queues) {
            long offset = consumer.minOffset(queue);
            while (offset < consumer.maxOffset(queue)) {
                PullResult result = consumer.pull(queue, "*", offset, 32);
                if (result.getPullStatus() != PullStatus.FOUND) {
                    throw new IllegalStateException("at offset " + offset + " of " + queue + ": " + result);
                }
                result.getMsgFoundList().forEach(InteropClient::reportReceived);
                offset = result.getNextBeginOffset();
            }
        }
        consumer.shutdown();
    }

    private void litePull() throws Exception {
        DefaultLitePullConsumer consumer = new DefaultLitePullConsumer(group);
        consumer.setNamesrvAddr(nameServer);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.start();
        report("{\"event\":\"ready\"}");
        AtomicInteger read = new AtomicInteger();
        long endsAt = System.currentTimeMillis() + DEADLINE_MS;
        while (read.get() < count && System.currentTimeMillis() < endsAt) {
            List<MessageExt> messages = consumer.poll(1000);
            messages.forEach(InteropClient::reportReceived);
            read.addAndGet(messages.size());
        }
        consumer.shutdown();
    }

    private static void reportReceived(MessageExt message) {
        report(String.format(
            "{\"event\":\"message\",\"body\":\"%s\",\"queue\":%d,\"offset\":%d,\"id\":\"%s\",\"tags\":\"%s\","
                + "\"number\":%s,\"key\":\"%s\",\"reconsume_times\":%d,\"age_ms\":%d}",
            new String(message.getBody()), message.getQueueId(), message.getQueueOffset(), message.getMsgId(),
            message.getTags(), message.getUserProperty("number"), message.getKeys(), message.getReconsumeTimes(),
            System.currentTimeMillis() - message.getBornTimestamp()));
    }

    private static void reportSent(SendResult result) {
        int status = result.getSendStatus() == SendStatus.SEND_OK ? 0 : 1;
        report(String.format(
            "{\"event\":\"sent\",\"status\":%d,\"id\":\"%s\",\"queue\":%d,\"offset\":%d,\"offset_id\":\"%s\"}",
            status, result.getMsgId(), result.getMessageQueue().getQueueId(), result.getQueueOffset(),
            result.getOffsetMsgId()));
    }

    /** One write per line: the client's threads report at the same time. */
    private static synchronized void report(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
