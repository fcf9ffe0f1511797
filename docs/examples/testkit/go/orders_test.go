package orders

import (
	"context"
	"testing"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

type parameters map[string]interface{}

// place is the service under test.
func place(sender rocketmq.Producer, order string) error {
	message := primitive.NewMessage("orders", []byte("10")).WithTag("placed").WithKeys([]string{order})
	_, err := sender.SendSync(context.Background(), message)
	return err
}

func started(t *testing.T, nameServer string) rocketmq.Producer {
	t.Helper()
	sender, err := rocketmq.NewProducer(producer.WithNameServer([]string{nameServer}), producer.WithGroupName(t.Name()))
	if err == nil {
		err = sender.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sender.Shutdown() })
	return sender
}

func TestAnOrderIsAnnounced(t *testing.T) {
	broker := empty(t)
	if err := place(started(t, broker.NameServer), "17"); err != nil {
		t.Fatal(err)
	}
	broker.call(t, "POST", "/assert-sent", parameters{"topic": "orders", "key": "17", "tag": "placed", "count": 1}, nil)
}

func TestAnOrderWhoseReplyIsLostIsSentAgain(t *testing.T) {
	broker := empty(t)
	sender := started(t, broker.NameServer)
	broker.call(t, "POST", "/faults", parameters{"what": "cut", "frame": "reply to SEND_MESSAGE", "times": 1}, nil)
	if err := place(sender, "17"); err != nil {
		t.Fatal(err)
	}
	broker.call(t, "POST", "/assert-sent", parameters{"topic": "orders", "key": "17", "count": 2}, nil)
}
