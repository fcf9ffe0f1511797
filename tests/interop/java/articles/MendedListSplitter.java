import java.util.List;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageClientIDSetter;
import org.apache.rocketmq.common.message.MessageDecoder;

/** The splitter with the size that the client compares with its limit: that of the messages as they travel. */
public class MendedListSplitter extends MessageListSplitter {
    public MendedListSplitter(List<Message> messages) {
        super(messages);
    }

    @Override
    protected int sizeOf(Message message) {
        MessageClientIDSetter.setUniqID(message); // otherwise the client adds it afterwards, in 42 or 66 bytes
        return MessageDecoder.encodeMessage(message).length;
    }
}
