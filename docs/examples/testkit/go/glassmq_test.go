// A RocketMQ broker for tests: TestMain starts it, each test gets it empty, and it ends with the tests.
package orders

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

type glassMQ struct {
	NameServer string `json:"name_server_address"`
	API        string `json:"api"`
}

var broker glassMQ

func TestMain(m *testing.M) {
	os.Exit(withBroker(m.Run))
}

func withBroker(run func() int) int {
	folder, err := os.MkdirTemp("", "glassmq")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	ready := filepath.Join(folder, "ready.json")
	command := exec.Command("glassmq", "serve", "--ephemeral", "--exit-with-parent", "--ready-file", ready)
	command.Stderr = os.Stderr
	input, err := command.StdinPipe() // the broker ends when it is closed
	if err != nil {
		panic(err)
	}
	if err := command.Start(); err != nil {
		panic(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	for {
		if content, err := os.ReadFile(ready); err == nil {
			if err := json.Unmarshal(content, &broker); err != nil {
				panic(err)
			}
			break
		}
		select {
		case err := <-ended:
			panic(fmt.Sprint("glassmq did not start: ", err))
		case <-time.After(20 * time.Millisecond):
		}
	}
	code := run()
	input.Close()
	<-ended
	return code
}

// empty gives a test an empty broker, and ends the faults after it: one that acted on no frame fails the test.
func empty(t *testing.T) glassMQ {
	t.Helper()
	broker.call(t, "POST", "/reset", nil, nil)
	t.Cleanup(func() {
		path := "/faults"
		if t.Failed() {
			path += "?unhit=ignore"
		}
		broker.call(t, "DELETE", path, nil, nil)
	})
	return broker
}

// call carries out an operation of /api/testkit; a failed check fails the test.
func (g glassMQ) call(t *testing.T, method, path string, parameters, reply interface{}) {
	t.Helper()
	var body bytes.Buffer
	if parameters != nil {
		if err := json.NewEncoder(&body).Encode(parameters); err != nil {
			t.Fatal(err)
		}
	}
	request, err := http.NewRequest(method, g.API+path, &body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		var refusal struct{ Error string }
		json.NewDecoder(answer.Body).Decode(&refusal)
		t.Fatal(refusal.Error)
	}
	if reply != nil {
		if err := json.NewDecoder(answer.Body).Decode(reply); err != nil {
			t.Fatal(err)
		}
	}
}
