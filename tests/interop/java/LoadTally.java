import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;

/** What LoadClient sent and consumed: how many, which numbers (from 0), and how long each was under way. */
final class LoadTally {
    /** More than a consumer of a measurement takes; of those behind it only the count is kept. */
    private static final int NUMBERS_MAX = 1 << 22;
    private static final int POLL_MS = 5;
    private static final long DEADLINE_NS = 60_000_000_000L;

    final LongAdder acknowledged = new LongAdder();
    /** Messages, not requests. */
    final LongAdder failed = new LongAdder();
    private final AtomicLong next = new AtomicLong();
    private final AtomicLongArray isAcknowledged = new AtomicLongArray(NUMBERS_MAX / 64);
    private volatile AtomicLongArray isConsumed = new AtomicLongArray(NUMBERS_MAX / 64);
    private final AtomicLong consumed = new AtomicLong();
    private volatile long firstNs;
    private volatile long lastNs;
    /** By number; each is written by the one thread that consumes the message, and read when all have. */
    private final int[] latenciesUs = new int[NUMBERS_MAX];
    private long windowFirst;
    private long windowEnd;

    int takeNumber() {
        return (int) Math.min(next.getAndIncrement(), Integer.MAX_VALUE);
    }

    /** How many numbers were taken. */
    long begun() {
        return next.get();
    }

    void acknowledge(int[] numbers) {
        for (int number : numbers) {
            mark(isAcknowledged, number);
        }
        acknowledged.add(numbers.length);
    }

    void consume(int number, long latencyNs, long nowNs) {
        if (firstNs == 0) {
            firstNs = nowNs;
        }
        mark(isConsumed, number);
        if (number < NUMBERS_MAX) {
            latenciesUs[number] = (int) Math.min(latencyNs / 1000, Integer.MAX_VALUE);
        }
        lastNs = nowNs;
        consumed.incrementAndGet();
    }

    long consumed() {
        return consumed.get();
    }

    /** For the next group. */
    void forgetConsumed() {
        isConsumed = new AtomicLongArray(NUMBERS_MAX / 64);
        consumed.set(0);
        firstNs = 0;
    }

    void awaitFirst() throws InterruptedException {
        long deadlineNs = System.nanoTime() + DEADLINE_NS;
        while (firstNs == 0 && System.nanoTime() < deadlineNs) {
            Thread.sleep(1);
        }
    }

    /** All that was acknowledged is consumed, or a minute is over: what is missing then is in the report. */
    void awaitLast() throws InterruptedException {
        long deadlineNs = System.nanoTime() + DEADLINE_NS;
        while ((consumed.get() < acknowledged.sum() || missing() > 0) && System.nanoTime() < deadlineNs) {
            Thread.sleep(POLL_MS);
        }
    }

    double secondsOfConsuming() {
        return (lastNs - firstNs) / 1e9;
    }

    /** How many were acknowledged and not consumed. */
    long missing() {
        long missing = 0;
        for (int i = 0; i < isConsumed.length(); i++) {
            missing += Long.bitCount(isAcknowledged.get(i) & ~isConsumed.get(i));
        }
        return missing;
    }

    void beginWindow() {
        windowFirst = begun();
    }

    void endWindow() {
        windowEnd = begun();
    }

    /** A quantile of those sent in the window; 0 without any. */
    int latencyUs(double quantile) {
        int end = (int) Math.min(windowEnd, NUMBERS_MAX);
        if (end <= windowFirst) {
            return 0;
        }
        int[] sorted = Arrays.copyOfRange(latenciesUs, (int) windowFirst, end);
        Arrays.sort(sorted);
        return sorted[(int) Math.ceil(quantile * sorted.length) - 1];
    }

    private static void mark(AtomicLongArray bits, int number) {
        if (number < NUMBERS_MAX) {
            bits.getAndUpdate(number / 64, word -> word | 1L << number % 64);
        }
    }
}
