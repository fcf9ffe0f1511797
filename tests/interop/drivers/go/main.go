// Drives the unmodified Go client v2; each report is one line of JSON on standard output.
//
// Usage: interop ACTION NAME_SERVER GROUP TOPIC COUNT where ACTION is sync, async, oneway, batch, transaction (sends COUNT
// half messages and rolls every second one back), push or orderly (these run until COUNT messages have come).
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

const deadline = 60 * time.Second

var reporting sync.Mutex

func report(event string, fields map[string]interface{}) {
	fields["event"] = event
	line, err := json.Marshal(fields)
	check(err)
	reporting.Lock()
	defer reporting.Unlock()
	fmt.Println(string(line))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func message(topic string, number int) *primitive.Message {
	made := primitive.NewMessage(topic, []byte(fmt.Sprintf("message-%d", number)))
	made.WithTag("TagA").WithKeys([]string{fmt.Sprintf("key-%d", number)})
	made.WithProperty("number", strconv.Itoa(number))
	return made
}

func reportSent(result *primitive.SendResult) {
	report("sent", map[string]interface{}{"status": int(result.Status), "id": result.MsgID})
}

func send(action, nameServer, group, topic string, count int) {
	sender, err := rocketmq.NewProducer(producer.WithNameServer([]string{nameServer}),
		producer.WithGroupName(group), producer.WithSendMsgTimeout(30*time.Second))
	check(err)
	check(sender.Start())
	var answered sync.WaitGroup
	batch := []*primitive.Message{}
	for number := 0; number < count; number++ {
		switch action {
		case "sync":
			result, err := sender.SendSync(context.Background(), message(topic, number))
			check(err)
			reportSent(result)
		case "async":
			answered.Add(1)
			check(sender.SendAsync(context.Background(), func(_ context.Context, result *primitive.SendResult, err error) {
				check(err)
				reportSent(result)
				answered.Done()
			}, message(topic, number)))
		case "oneway":
			if number < count-1 {
				check(sender.SendOneWay(context.Background(), message(topic, number)))
				continue
			}
			// The client does not mark one-way requests as such, so they are answered, and it ends its connection with
			// these answers unread: the other side may lose what it has not read by then.
			result, err := sender.SendSync(context.Background(), message(topic, number))
			check(err)
			reportSent(result)
		case "batch":
			batch = append(batch, message(topic, number))
		}
	}
	if action == "batch" {
		result, err := sender.SendSync(context.Background(), batch...)
		check(err)
		reportSent(result)
	}
	answered.Wait()
	check(sender.Shutdown())
}

type everySecond struct{ asked int32 }

func (listener *everySecond) ExecuteLocalTransaction(*primitive.Message) primitive.LocalTransactionState {
	if atomic.AddInt32(&listener.asked, 1)%2 == 0 {
		return primitive.RollbackMessageState
	}
	return primitive.CommitMessageState
}

func (listener *everySecond) CheckLocalTransaction(*primitive.MessageExt) primitive.LocalTransactionState {
	return primitive.UnknowState
}

func transact(nameServer, group, topic string, count int) {
	sender, err := rocketmq.NewTransactionProducer(&everySecond{}, producer.WithNameServer([]string{nameServer}),
		producer.WithGroupName(group), producer.WithSendMsgTimeout(30*time.Second))
	check(err)
	check(sender.Start())
	for number := 0; number < count; number++ {
		result, err := sender.SendMessageInTransaction(context.Background(), message(topic, number))
		check(err)
		reportSent(result.SendResult)
	}
	check(sender.Shutdown())
}

func consume(isOrderly bool, nameServer, group, topic string, count int) {
	reader, err := rocketmq.NewPushConsumer(consumer.WithNameServer([]string{nameServer}), consumer.WithGroupName(group),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset), consumer.WithConsumerOrder(isOrderly))
	check(err)
	left := int32(count)
	done := make(chan bool)
	check(reader.Subscribe(topic, consumer.MessageSelector{}, func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, got := range messages {
			report("message", map[string]interface{}{"body": string(got.Body), "queue": got.Queue.QueueId,
				"offset": got.QueueOffset, "tags": got.GetTags(), "key": got.GetKeys()})
			if atomic.AddInt32(&left, -1) == 0 {
				close(done)
			}
		}
		return consumer.ConsumeSuccess, nil
	}))
	check(reader.Start())
	report("ready", map[string]interface{}{})
	select {
	case <-done:
	case <-time.After(deadline):
		check(fmt.Errorf("%d messages never came", atomic.LoadInt32(&left)))
	}
	check(reader.Shutdown())
}

func main() {
	rlog.SetLogLevel("error")
	action, nameServer, group, topic := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	count, err := strconv.Atoi(os.Args[5])
	check(err)
	switch action {
	case "push", "orderly":
		consume(action == "orderly", nameServer, group, topic, count)
	case "transaction":
		transact(nameServer, group, topic, count)
	default:
		send(action, nameServer, group, topic, count)
	}
	report("done", map[string]interface{}{})
}
