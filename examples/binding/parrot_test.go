package parrot_test

import (
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi/guest"
	parrot "github.com/aoagents/ao-host/examples/binding"
)

const (
	open   = `{"now":1,"open":{"generation":1,"cwd":"/p","client":{"name":"t","version":"1"},"settings":{}}}`
	begun  = `{"now":2,"message":{"type":"result","method":"start","token":"start","result":{"session":"s1","version":"1.0.0"}}}`
	submit = `{"now":3,"submit":{"turn":"t1","client_id":"c1","content":[{"type":"text","text":"Say \"hi\""}],"settings":{"mode":"default","permission":"default"},"origin":"user"}}`
	said   = `{"now":4,"message":{"type":"result","method":"say","token":"say","result":{"text":"hi!"}}}`
)

// play feeds events to the binding, through a saved and loaded copy before each.
func play(t *testing.T, events ...string) (last string) {
	t.Helper()
	plain, saved := guest.NewMachine(&parrot.Reducer{}), guest.NewMachine(&parrot.Reducer{})
	for _, ev := range events {
		out, err := plain.Step([]byte(ev))
		if err != nil {
			t.Fatal(err)
		}
		last = string(out)
		if out, err = saved.Step([]byte(ev)); err != nil || string(out) != last {
			t.Fatalf("%s: %s, %v after a save and load, %s without", ev, out, err, last)
		}
		copied := guest.NewMachine(&parrot.Reducer{})
		if err := copied.Load(saved.Save()); err != nil {
			t.Fatal(err)
		}
		saved = copied
	}
	return last
}

func TestAMessageIsDeliveredAndItsAnswerEndsTheTurn(t *testing.T) {
	for _, c := range []struct {
		events []string
		want   []string
	}{
		{[]string{open}, []string{`[{"call":{"token":"start","method":"start","params":{}}}]`}},
		{[]string{open, begun}, []string{`"native_session":"s1"`, `"restored":"new"`, `"provider_version":"1.0.0"`}},
		{[]string{open, begun, submit}, []string{`[{"call":{"token":"say","method":"say","params":{"text":"Say \"hi\""},"delivers":"t1"}}]`}},
		{[]string{open, begun, submit, said}, []string{`"delivery":{"turn":"t1","status":"accepted"`, `"text":"hi!"`, `{"turn_ended":{"turn":"t1","status":"completed"}}]`}},
		{[]string{open, begun, strings.Replace(submit, `"mode":"default"`, `"mode":"plan"`, 1)}, []string{`[{"problem":{"code":"unknown_mode","field":"mode"`, `"status":"not_sent"`}},
		{[]string{open, begun, submit, `{"now":4,"message":{"type":"error","token":"say","error":{"code":-1,"message":"no"}}}`}, []string{`[{"delivery":{"turn":"t1","status":"rejected"`}},
		{[]string{open, begun, submit, `{"now":4,"message":{"type":"error","token":"say","error":{"code":0,"local":"exited"}}}`}, []string{`[{"delivery":{"turn":"t1","status":"unknown"`}},
		{[]string{strings.Replace(open, `"cwd"`, `"native_session":"s0","used":true,"cwd"`, 1), begun}, []string{`"restored":"replaced"`, `"reason":"`}},
		{[]string{open, `{"now":2,"message":{"type":"error","token":"start","error":{"code":-1,"message":"asleep"}}}`}, []string{`[{"problem":{"code":"launch_failed"`, `asleep`}},
		{[]string{open, begun, `{"now":9,"surprise":{}}`}, []string{`[]`}},
	} {
		got := play(t, c.events...)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s\ngives %s\nand not %s", c.events[len(c.events)-1], got, want)
			}
		}
	}
}
