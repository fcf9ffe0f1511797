import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/** TAGA: the debit succeeds; TAGB: it fails; TAGC: nobody knows, and the check-back finds that it succeeded. */
public class ICBCTransactionListener implements TransactionListener {
    @Override
    public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
        System.out.println("预提交消息成功:" + message);
        switch (message.getTags()) {
            case "TAGA": return LocalTransactionState.COMMIT_MESSAGE;
            case "TAGB": return LocalTransactionState.ROLLBACK_MESSAGE;
            default: return LocalTransactionState.UNKNOW;
        }
    }

    @Override
    public LocalTransactionState checkLocalTransaction(MessageExt message) {
        System.out.println("执行消息回查" + message.getTags());
        return LocalTransactionState.COMMIT_MESSAGE;
    }
}
