import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.spring.annotation.RocketMQMessageListener;
import org.apache.rocketmq.spring.annotation.RocketMQTransactionListener;
import org.apache.rocketmq.spring.core.RocketMQListener;
import org.apache.rocketmq.spring.core.RocketMQLocalTransactionListener;
import org.apache.rocketmq.spring.core.RocketMQLocalTransactionState;
import org.apache.rocketmq.spring.core.RocketMQPushConsumerLifecycleListener;
import org.apache.rocketmq.spring.core.RocketMQTemplate;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.messaging.Message;
import org.springframework.messaging.support.MessageBuilder;

/**
 * Sends and consumes by RocketMQ's Spring Boot starter, as an application does.
 *
 * <p>SpringClient NAME_SERVER GROUP TOPIC COUNT sends COUNT messages synchronously and COUNT asynchronously, commits one
 * transaction and rolls one back, and waits for what is to arrive. Reports one line of JSON.
 */
@EnableAutoConfiguration
public class SpringClient {
    private static final long DEADLINE_S = 60;
    private static final Set<String> received = ConcurrentHashMap.newKeySet();
    private static CountDownLatch awaited;

    public static void main(String[] args) throws Exception {
        String topic = args[2];
        int count = Integer.parseInt(args[3]);
        awaited = new CountDownLatch(2 * count + 1);
        Map<String, Object> settings = new HashMap<>();
        settings.put("rocketmq.name-server", args[0]);
        settings.put("rocketmq.producer.group", args[1] + "_producers");
        settings.put("rocketmq.producer.send-message-timeout", 30_000);
        settings.put("interop.topic", topic);
        settings.put("interop.group", args[1]);
        settings.put("spring.main.web-application-type", "none");
        settings.put("spring.main.banner-mode", "off");
        SpringApplication application = new SpringApplication(SpringClient.class, Listener.class, Transactions.class);
        application.setDefaultProperties(settings);
        ConfigurableApplicationContext context = application.run();
        RocketMQTemplate template = context.getBean(RocketMQTemplate.class);
        int sent = 0;
        for (int number = 0; number < count; number++) {
            sent += isOk(template.syncSend(topic + ":TagA", "sync-" + number)) ? 1 : 0;
        }
        CountDownLatch answered = new CountDownLatch(count);
        for (int number = 0; number < count; number++) {
            template.asyncSend(topic, "async-" + number, new SendCallback() {
                @Override
                public void onSuccess(SendResult result) {
                    answered.countDown();
                }

                @Override
                public void onException(Throwable error) {
                    error.printStackTrace();
                }
            });
        }
        boolean isAnswered = answered.await(DEADLINE_S, TimeUnit.SECONDS);
        LocalTransactionState rolledBack = transact(template, topic, "rolled-back");
        LocalTransactionState committed = transact(template, topic, "committed");
        boolean hasArrived = awaited.await(DEADLINE_S, TimeUnit.SECONDS);
        System.out.printf(
            "{\"sent\":%d,\"answered\":%b,\"transactions\":\"%s %s\",\"arrived\":%b,\"rolled_back_arrived\":%b}%n",
            sent, isAnswered, rolledBack, committed, hasArrived, received.contains("rolled-back"));
        context.close();
        System.exit(0);
    }

    private static boolean isOk(SendResult result) {
        return result.getSendStatus() == SendStatus.SEND_OK;
    }

    private static LocalTransactionState transact(RocketMQTemplate template, String topic, String body) {
        Message<String> message = MessageBuilder.withPayload(body).build();
        return template.sendMessageInTransaction(topic, message, body).getLocalTransactionState();
    }

    @RocketMQMessageListener(topic = "${interop.topic}", consumerGroup = "${interop.group}")
    public static class Listener implements RocketMQListener<String>, RocketMQPushConsumerLifecycleListener {
        @Override
        public void onMessage(String body) {
            if (received.add(body)) {
                awaited.countDown();
            }
        }

        @Override
        public void prepareStart(DefaultMQPushConsumer consumer) {
            consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        }
    }

    @RocketMQTransactionListener
    public static class Transactions implements RocketMQLocalTransactionListener {
        @Override
        public RocketMQLocalTransactionState executeLocalTransaction(Message message, Object body) {
            return body.equals("committed")
                ? RocketMQLocalTransactionState.COMMIT : RocketMQLocalTransactionState.ROLLBACK;
        }

        @Override
        public RocketMQLocalTransactionState checkLocalTransaction(Message message) {
            return RocketMQLocalTransactionState.UNKNOWN;
        }
    }
}
