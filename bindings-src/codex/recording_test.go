package codex_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aoagents/ao-host/abi"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// frame is one line of a recording.
type frame struct {
	Dir   string `json:"dir"`
	Frame struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Code    int64  `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	} `json:"frame"`
}

func recordings(t testing.TB) []string {
	t.Helper()
	root := filepath.Join("..", "..", "testdata", "recordings")
	var names []string
	for _, dir := range []string{"codex", "codex-0.153"} {
		found, err := filepath.Glob(filepath.Join(root, dir, "*.ndjson"))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	if len(names) < 8 {
		t.Fatalf("only %d recordings found", len(names))
	}
	return names
}

func readRecording(t testing.TB, name string) (frames []frame) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var x frame
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		frames = append(frames, x)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return frames
}

// player drives a rig with a recording: what the recorded client sent becomes
// events of the host, what the child sent becomes messages.
type player struct {
	*rig
	frames []frame
	// methods of the recorded client's calls by id.
	methods map[string]string
	open    map[string]*abi.Interaction
	turns   int
	// async is an async question that waits for its answer.
	async *abi.Interaction
}

func play(t testing.TB, name string, reload bool) *rig {
	t.Helper()
	p := &player{rig: newRig(t), frames: readRecording(t, name), methods: map[string]string{}, open: map[string]*abi.Interaction{}}
	p.reload = reload
	for _, f := range p.frames {
		if f.Dir == "in" && f.Frame.Method != "" && f.Frame.ID != nil {
			p.methods[string(f.Frame.ID)] = f.Frame.Method
		}
	}
	for i := range p.frames {
		switch p.frames[i].Dir {
		case "in":
			p.client(&p.frames[i])
		case "out":
			p.child(&p.frames[i])
		}
		p.answerUnrecorded(i)
	}
	return p.rig
}

// answerUnrecorded answers calls of ours that the recorded client never made.
func (p *player) answerUnrecorded(from int) {
	recorded := func(method string) bool {
		for _, f := range p.frames[from+1:] {
			if f.Dir == "out" && f.Frame.Method == "" && p.methods[string(f.Frame.ID)] == method {
				return true
			}
		}
		return false
	}
	for _, canned := range [][2]string{
		{"account/read", signedIn},
		{"model/list", `{"data":[],"nextCursor":null}`},
		{"collaborationMode/list", modes},
		{"thread/unsubscribe", `{"status":"unsubscribed"}`},
		// The recorded client asked for it earlier than we do.
		{"thread/turns/list", p.resultOf("thread/turns/list")},
		{"thread/start", strings.ReplaceAll(threadResult("baseline-1"), model, "mock-model")},
	} {
		for !recorded(canned[0]) && slices.ContainsFunc(p.calls, func(c *abi.Call) bool { return c.Method == canned[0] }) {
			p.result(canned[0], canned[1])
		}
	}
}

// resultOf is the recorded result of a method.
func (p *player) resultOf(method string) string {
	for _, f := range p.frames {
		if f.Dir == "out" && f.Frame.Method == "" && p.methods[string(f.Frame.ID)] == method {
			return string(f.Frame.Result)
		}
	}
	return ""
}

func (p *player) client(f *frame) {
	p.t.Helper()
	switch f.Frame.Method {
	case "initialize":
		o := openEvent()
		for _, x := range p.frames {
			if x.Dir == "in" && x.Frame.Method == "thread/resume" {
				o.NativeSession, o.Used = at(p.t, x.Frame.Params, "threadId").(string), true
				o.Unsettled = []string{"lost", "msg-2", "msg-1"}
			}
		}
		p.step("open", abi.Event{Open: o})
	case "turn/start":
		p.turns++
		s := abi.Submit{Turn: "t" + string(rune('0'+p.turns))}
		s.ClientID, _ = at(p.t, f.Frame.Params, "clientUserMessageId").(string)
		s.Settings.Mode, _ = at(p.t, f.Frame.Params, "collaborationMode.mode").(string)
		s.Settings.Model, _ = at(p.t, f.Frame.Params, "collaborationMode.settings.model").(string)
		s.Settings.Effort, _ = at(p.t, f.Frame.Params, "collaborationMode.settings.reasoning_effort").(string)
		if kind, _ := at(p.t, f.Frame.Params, "sandboxPolicy.type").(string); kind == "workspaceWrite" {
			s.Settings.Permission = abi.PermissionAcceptEdits
		}
		var sent struct{ Input []struct{ Text string } }
		if err := json.Unmarshal(f.Frame.Params, &sent); err != nil {
			p.t.Fatal(err)
		}
		if asked := p.async; asked != nil {
			// The recorded client answered the async question with this message.
			p.async = nil
			s.Origin, s.Interaction, s.Asked = abi.OriginAnswer, asked.Key, asked
			s.Reply = &abi.Reply{Fields: []abi.FieldAnswer{{Field: asked.Fields[0].ID, State: abi.StateAnswered, Selected: []int64{1}}}}
		} else {
			s.Content = []abi.Content{{Type: abi.ContentText, Text: sent.Input[0].Text}}
		}
		c := one(p.t, p.send(s), call)
		var ours struct{ Input []struct{ Text string } }
		if err := json.Unmarshal(c.Params, &ours); err != nil {
			p.t.Fatal(err)
		}
		if diff := cmp.Diff(sent, ours); diff != "" {
			p.t.Errorf("the message differs from the recorded one (-recorded +ours):\n%s", diff)
		}
	case "turn/interrupt":
		p.stop("t" + string(rune('0'+p.turns)))
	case "":
		p.answer(f)
	}
}

// answer gives the recorded reply as a person's answer, or as a withdrawal where
// the recorded client replied with something that was not offered.
func (p *player) answer(f *frame) {
	p.t.Helper()
	x := p.open[string(f.Frame.ID)]
	if x == nil {
		p.t.Fatalf("the recording answers a request that is not open: %s", f.Frame.ID)
	}
	if x.Type != abi.InteractionQuestion {
		p.step("withdraw", abi.Event{Withdraw: &abi.Withdraw{Key: x.Key, Reason: abi.WithdrawSteer}})
		return
	}
	a := abi.Answer{Key: x.Key}
	for _, field := range x.Fields {
		for _, label := range at(p.t, f.Frame.Result, "answers."+field.ID+".answers").([]any) {
			n := slices.IndexFunc(field.Options, func(o abi.Option) bool { return o.Label == label })
			a.Reply.Fields = append(a.Reply.Fields, abi.FieldAnswer{Field: field.ID, State: abi.StateAnswered, Selected: []int64{int64(n)}})
		}
	}
	got := one(p.t, p.step("answer", abi.Event{Answer: &a}), reply)
	if diff := cmp.Diff(at(p.t, f.Frame.Result, "answers"), at(p.t, got.Result, "answers")); diff != "" {
		p.t.Errorf("the reply differs from the recorded one (-recorded +ours):\n%s", diff)
	}
}

func (p *player) child(f *frame) {
	p.t.Helper()
	x := &f.Frame
	switch {
	case x.Method != "" && x.ID != nil:
		_, effects := p.ask(string(x.ID), x.Method, string(x.Params))
		p.open[string(x.ID)] = one(p.t, effects, opened)
	case x.Method != "":
		for _, asked := range only(p.notify(x.Method, string(x.Params)), opened) {
			p.async = asked
		}
	default:
		method := p.methods[string(x.ID)]
		if !slices.ContainsFunc(p.calls, func(c *abi.Call) bool { return c.Method == method }) {
			return // a call that we do not make
		}
		if x.Error != nil {
			p.fail(method, abi.CallError{Code: x.Error.Code, Message: x.Error.Message})
			return
		}
		p.result(method, string(x.Result))
	}
}

func goldenName(recording string) string {
	dir, file := filepath.Split(recording)
	return filepath.Join("testdata", "golden", filepath.Base(dir)+"-"+strings.TrimSuffix(file, ".ndjson")+".txt")
}

func checkGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("%v; run the test with -update and read the result", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestEveryRecordingGivesItsGoldenEffects(t *testing.T) {
	for _, name := range recordings(t) {
		t.Run(strings.TrimSuffix(filepath.Base(goldenName(name)), ".txt"), func(t *testing.T) {
			checkGolden(t, goldenName(name), play(t, name, false).log)
		})
	}
}

func TestSavingAndLoadingAfterEveryEventChangesNothing(t *testing.T) {
	for _, name := range recordings(t) {
		t.Run(strings.TrimSuffix(filepath.Base(goldenName(name)), ".txt"), func(t *testing.T) {
			never, always := play(t, name, false), play(t, name, true)
			if diff := cmp.Diff(strings.Split(string(never.log), "\n"), strings.Split(string(always.log), "\n")); diff != "" {
				t.Errorf("effects differ (-never saved +always saved):\n%s", diff)
			}
		})
	}
}

func TestTheSameEventsGiveTheSameBytes(t *testing.T) {
	for _, name := range recordings(t) {
		a, b := play(t, name, false), play(t, name, false)
		if string(a.log) != string(b.log) || string(a.machine.Save()) != string(b.machine.Save()) {
			t.Errorf("%s: two runs differ", name)
		}
	}
}

// A recording that ends well leaves nothing open, whatever the version.
func TestEveryRecordedTurnIsDeliveredStartedAndEndedOnce(t *testing.T) {
	for _, name := range recordings(t) {
		t.Run(strings.TrimSuffix(filepath.Base(goldenName(name)), ".txt"), func(t *testing.T) {
			r := play(t, name, false)
			count := map[string]int{}
			for i := range r.all {
				switch e := &r.all[i]; {
				case e.Call != nil && e.Call.Delivers != "":
					count[e.Call.Delivers+" sent"]++
				case e.Delivery != nil && e.Delivery.Status == abi.DeliveryAccepted:
					count[e.Delivery.Turn+" accepted"]++
				case e.TurnStarted != nil:
					count[e.TurnStarted.Turn+" started"]++
				case e.TurnEnded != nil:
					count[e.TurnEnded.Turn+" ended"]++
				}
			}
			for key, n := range count {
				if n != 1 {
					t.Errorf("%s %d times", key, n)
				}
				turn, _, _ := strings.Cut(key, " ")
				for _, what := range []string{" sent", " accepted", " started", " ended"} {
					if count[turn+what] != 1 {
						t.Errorf("turn %q has no%s", turn, what)
					}
				}
			}
		})
	}
}
