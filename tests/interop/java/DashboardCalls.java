import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.serializer.SerializerFeature;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.Callable;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.protocol.body.BrokerStatsData;
import org.apache.rocketmq.common.subscription.SubscriptionGroupConfig;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;
import org.apache.rocketmq.tools.admin.api.MessageTrack;

/**
 * Calls what RocketMQ's dashboard calls (its services, releases 1.0 and 2.1, sign-in aside) and what is left of
 * {@code DefaultMQAdminExt}, with the unmodified library.
 *
 * <p>DashboardCalls NAME_SERVER BROKER TOPIC GROUP CLIENT_ID CONSUMED_ID UNIQUE_ID. Each call is one line: its name, a
 * tab, and the result as JSON, or the exception with its code.
 */
public final class DashboardCalls {
    private static final String MADE = "DashboardMade";
    private static final String MADE_GROUP = "DashboardMadeGroup";
    private static final int TIMEOUT_MS = 10_000;

    private final DefaultMQAdminExt admin = new DefaultMQAdminExt(TIMEOUT_MS);
    private final String broker;
    private final String topic;
    private final String group;
    private final String clientId;
    private final String offsetId;
    private final String uniqueId;

    private DashboardCalls(String[] args) {
        admin.setNamesrvAddr(args[0]);
        admin.setInstanceName("dashboard");
        broker = args[1];
        topic = args[2];
        group = args[3];
        clientId = args[4];
        offsetId = args[5];
        uniqueId = args[6];
    }

    public static void main(String[] args) throws Exception {
        DashboardCalls calls = new DashboardCalls(args);
        calls.admin.start();
        calls.look();
        calls.change();
        calls.admin.shutdown();
        System.exit(0);
    }

    private void look() {
        call("examineBrokerClusterInfo", admin::examineBrokerClusterInfo);
        call("fetchAllTopicList", admin::fetchAllTopicList);
        call("fetchTopicsByCLuster", () -> admin.fetchTopicsByCLuster("DefaultCluster"));
        call("examineTopicRouteInfo", () -> admin.examineTopicRouteInfo(topic));
        call("examineTopicStats", () -> admin.examineTopicStats(topic));
        call("examineTopicConfig", () -> admin.examineTopicConfig(broker, topic));
        call("getAllTopicConfig", () -> admin.getAllTopicConfig(broker, TIMEOUT_MS).getTopicConfigTable());
        call("getUserTopicConfig", () -> admin.getUserTopicConfig(broker, false, TIMEOUT_MS).getTopicConfigTable());
        call("getClusterList", () -> admin.getClusterList(topic));
        call("getTopicClusterList", () -> admin.getTopicClusterList(topic));
        call("queryTopicConsumeByWho", () -> admin.queryTopicConsumeByWho(topic));
        call("examineConsumeStats", () -> admin.examineConsumeStats(group).getOffsetTable());
        call("examineConsumeStats of a topic", () -> admin.examineConsumeStats(group, topic).getOffsetTable());
        call("examineConsumerConnectionInfo", () -> admin.examineConsumerConnectionInfo(group));
        call("examineConsumerConnectionInfo of nobody", () -> admin.examineConsumerConnectionInfo("NoSuchGroup"));
        // This program may be among them: it says hello after a second.
        call("examineProducerConnectionInfo",
            () -> admin.examineProducerConnectionInfo("CLIENT_INNER_PRODUCER", topic).getConnectionSet().stream()
                .filter(connection -> connection.getClientId().equals(clientId)).toArray());
        call("examineSubscriptionGroupConfig", () -> admin.examineSubscriptionGroupConfig(broker, group));
        call("getAllSubscriptionGroup",
            () -> admin.getAllSubscriptionGroup(broker, TIMEOUT_MS).getSubscriptionGroupTable());
        call("getUserSubscriptionGroup",
            () -> admin.getUserSubscriptionGroup(broker, TIMEOUT_MS).getSubscriptionGroupTable());
        call("queryConsumeTimeSpan", () -> admin.queryConsumeTimeSpan(topic, group));
        call("fetchConsumeStatsInBroker", () -> admin.fetchConsumeStatsInBroker(broker, false, TIMEOUT_MS).getTotalDiff());
        call("getConsumerRunningInfo", () -> admin.getConsumerRunningInfo(group, clientId, true).getSubscriptionSet());
        call("getConsumerRunningInfo of nobody", () -> admin.getConsumerRunningInfo(group, "nobody", false));
        call("getConsumeStatus", () -> admin.getConsumeStatus(topic, group, clientId));
        call("viewMessage", () -> described(admin.viewMessage(offsetId)));
        call("viewMessage by unique id", () -> described(admin.viewMessage(topic, uniqueId)));
        call("queryMessage", () -> {
            List<MessageExt> found = admin.queryMessage(topic, "key-7", 64, 0, Long.MAX_VALUE).getMessageList();
            return described(found.get(0)) + found.size();
        });
        call("queryMessage finds nothing", () -> admin.queryMessage(topic, "no-key", 64, 0, Long.MAX_VALUE));
        call("messageTrackDetail", () -> {
            List<MessageTrack> tracks = admin.messageTrackDetail(admin.viewMessage(topic, uniqueId));
            tracks.forEach(track -> track.setExceptionDesc(null));
            return tracks;
        });
        call("consumeMessageDirectly", () -> admin.consumeMessageDirectly(group, clientId, topic, uniqueId));
        for (String name : new String[] {"TOPIC_PUT_NUMS", "GROUP_GET_NUMS", "NO_SUCH_STATS"}) {
            String key = name.startsWith("GROUP") ? topic + "@" + group : topic;
            call("viewBrokerStatsData " + name, () -> sums(admin.viewBrokerStatsData(broker, name, key)));
        }
        call("getBrokerConfig", () -> admin.getBrokerConfig(broker).getProperty("autoCreateTopicEnable"));
        call("getNameServerConfig", () -> admin.getNameServerConfig(null).size());
        // Which message lies in which queue is up to chance.
        call("queryConsumeQueue", () -> admin.queryConsumeQueue(broker, topic, 0, 0, 3, null).getQueueData().size());
    }

    private void change() {
        TopicConfig config = new TopicConfig(MADE, 3, 3, 6);
        call("createAndUpdateTopicConfig", () -> done(() -> admin.createAndUpdateTopicConfig(broker, config)));
        call("examineTopicConfig", () -> admin.examineTopicConfig(broker, MADE));
        call("createTopic", () -> done(() -> admin.createTopic("DefaultCluster", MADE + "2", 2)));
        SubscriptionGroupConfig groupConfig = new SubscriptionGroupConfig();
        groupConfig.setGroupName(MADE_GROUP);
        groupConfig.setRetryMaxTimes(3);
        call("createAndUpdateSubscriptionGroupConfig",
            () -> done(() -> admin.createAndUpdateSubscriptionGroupConfig(broker, groupConfig)));
        call("examineSubscriptionGroupConfig", () -> admin.examineSubscriptionGroupConfig(broker, MADE_GROUP));
        call("cloneGroupOffset", () -> done(() -> admin.cloneGroupOffset(group, MADE_GROUP, topic, true)));
        call("queryTopicConsumeByWho", () -> admin.queryTopicConsumeByWho(topic));
        call("resetOffsetByTimestamp of an offline group",
            () -> admin.resetOffsetByTimestamp(topic, MADE_GROUP, 0, true));
        call("resetOffsetNew of an offline group", () -> done(() -> admin.resetOffsetNew(MADE_GROUP, topic, 0)));
        call("putKVConfig", () -> done(() -> admin.putKVConfig("DashboardSpace", "a", "1")));
        call("createAndUpdateKvConfig", () -> done(() -> admin.createAndUpdateKvConfig("DashboardSpace", "b", "2")));
        call("getKVConfig", () -> admin.getKVConfig("DashboardSpace", "b"));
        call("getKVListByNamespace", () -> admin.getKVListByNamespace("DashboardSpace"));
        call("deleteSubscriptionGroup", () -> done(() -> admin.deleteSubscriptionGroup(broker, MADE_GROUP, true)));
        call("examineSubscriptionGroupConfig", () -> admin.examineSubscriptionGroupConfig(broker, MADE_GROUP));
        call("deleteTopicInBroker",
            () -> done(() -> admin.deleteTopicInBroker(Collections.singleton(broker), MADE)));
        call("deleteTopicInNameServer",
            () -> done(() -> admin.deleteTopicInNameServer(new HashSet<>(admin.getNameServerAddressList()), MADE, null)));
        call("examineTopicConfig", () -> admin.examineTopicConfig(broker, MADE));
        call("examineTopicRouteInfo", () -> admin.examineTopicRouteInfo(MADE));
        call("resetOffsetByTimestampOld", () -> admin.resetOffsetByTimestampOld(group, topic, 0, true));
    }

    private interface Action {
        void run() throws Exception;
    }

    private static String done(Action action) throws Exception {
        action.run();
        return "done";
    }

    private static String described(MessageExt message) {
        return message.getTopic() + " " + message.getQueueOffset() + " " + message.getKeys() + " "
            + new String(message.getBody());
    }

    private static long[] sums(BrokerStatsData data) {
        return new long[] {data.getStatsMinute().getSum(), data.getStatsDay().getSum()};
    }

    private void call(String name, Callable<Object> action) {
        String result;
        try {
            result = JSON.toJSONString(action.call(), SerializerFeature.MapSortField);
        } catch (MQBrokerException error) {
            result = "MQBrokerException " + error.getResponseCode();
        } catch (MQClientException error) {
            result = "MQClientException " + error.getResponseCode();
        } catch (Exception error) {
            result = error.getClass().getSimpleName();
        }
        System.out.println("@ " + name + "\t" + result);
        System.out.flush();
    }
}
