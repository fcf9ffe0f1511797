import java.util.HashMap;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * One measurement of the benchmark (tests/benchmarks), on the unmodified client: warms up, measures for a while, ends what
 * it began and accounts for every message.
 *
 * <p>LoadClient NAME_SERVER mode=MODE topic=TOPIC threads=N batch=N body=BYTES warm_up_ms=MS window_ms=MS in_flight=N
 * rate=PER_SECOND backlog=N. Modes: sync, async and transactions only send; live and latency consume meanwhile; drain
 * and orderly first send a backlog, then one group consumes it to warm up and a second one while it is measured.
 *
 * <p>Prints JSON: a line when the measured part begins, a line when it ends (messages, seconds), and a last one with all
 * that was acknowledged, that failed, that was consumed, and that is missing.
 */
public final class LoadClient {
    private final String nameServer;
    private final Map<String, String> options = new HashMap<>();
    private final LoadTally tally = new LoadTally();

    private LoadClient(String[] args) {
        nameServer = args[0];
        for (int i = 1; i < args.length; i++) {
            String[] words = args[i].split("=", 2);
            options.put(words[0], words[1]);
        }
    }

    public static void main(String[] args) throws Exception {
        LoadClient client = new LoadClient(args);
        switch (client.options.get("mode")) {
            case "drain":
            case "orderly":
                client.drain();
                break;
            case "live":
            case "latency":
                client.flow();
                break;
            default:
                client.send();
        }
        client.report();
        System.exit(0); // the client's own threads would go on
    }

    private void send() throws Exception {
        LoadSenders senders = senders(Long.MAX_VALUE);
        measure(tally.acknowledged::sum);
        senders.end();
    }

    private void flow() throws Exception {
        consumer("flow");
        LoadSenders senders = senders(Long.MAX_VALUE);
        measure(tally::consumed);
        senders.end();
        tally.awaitLast();
    }

    private void drain() throws Exception {
        senders(number("backlog")).awaitEnd();
        LoadConsumer first = consumer("first");
        tally.awaitLast();
        first.end();
        tally.forgetConsumed();
        consumer("second");
        tally.awaitFirst();
        print("{\"event\":\"begin\"}");
        tally.awaitLast();
        ended(tally.consumed(), tally.secondsOfConsuming());
    }

    private LoadSenders senders(long limit) throws Exception {
        LoadSenders senders = new LoadSenders(nameServer, options, tally, limit);
        senders.start();
        return senders;
    }

    private LoadConsumer consumer(String name) throws Exception {
        String group = options.get("topic") + "_" + name;
        LoadConsumer consumer = new LoadConsumer(nameServer, options.get("topic"), group, tally);
        consumer.start(options.get("mode").equals("orderly"));
        return consumer;
    }

    /** What is counted in the window behind the warm-up. */
    private void measure(LongSupplier count) throws Exception {
        Thread.sleep(number("warm_up_ms"));
        tally.beginWindow();
        print("{\"event\":\"begin\"}");
        long before = count.getAsLong();
        long beganNs = System.nanoTime();
        Thread.sleep(number("window_ms"));
        ended(count.getAsLong() - before, (System.nanoTime() - beganNs) / 1e9);
        tally.endWindow();
    }

    private long number(String option) {
        return Long.parseLong(options.get(option));
    }

    private static void ended(long messages, double seconds) {
        print(String.format("{\"event\":\"end\",\"messages\":%d,\"seconds\":%.4f}", messages, seconds));
    }

    private void report() {
        print(String.format(
            "{\"event\":\"result\",\"acknowledged\":%d,\"failed\":%d,\"consumed\":%d,\"missing\":%d,\"p50_us\":%d,\"p99_us\":%d}",
            tally.acknowledged.sum(), tally.failed.sum(), tally.consumed(), tally.missing(),
            tally.latencyUs(0.50), tally.latencyUs(0.99)));
    }

    private static void print(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
