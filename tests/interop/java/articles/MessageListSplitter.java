import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.common.message.Message;

/** Cuts a list into parts of at most 4 MiB, by a sum of sizes that leaves out what the client adds. */
public class MessageListSplitter implements Iterator<List<Message>> {
    private static final int SIZE_LIMIT = 4 * 1024 * 1024;
    private final List<Message> messages;
    private int begin;

    public MessageListSplitter(List<Message> messages) {
        this.messages = messages;
    }

    @Override
    public boolean hasNext() {
        return begin < messages.size();
    }

    /** A message beyond the limit is a part of its own. */
    @Override
    public List<Message> next() {
        int end = begin;
        int total = 0;
        for (; end < messages.size(); end++) {
            total += sizeOf(messages.get(end));
            if (total > SIZE_LIMIT && end > begin) {
                break;
            }
        }
        List<Message> part = messages.subList(begin, end);
        begin = end;
        return part;
    }

    protected int sizeOf(Message message) {
        int size = message.getTopic().length() + message.getBody().length + 20;
        for (Map.Entry<String, String> property : message.getProperties().entrySet()) {
            size += property.getKey().length() + property.getValue().length();
        }
        return size;
    }
}
