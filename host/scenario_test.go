package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/lab/scenario"
	"github.com/aoagents/ao-host/lab/scripted"
)

// actor is a harness that the scenarios are played on. What is expected of it comes
// from what it says of itself: its catalog, its capabilities, its manifest.
type actor struct {
	// title is its row in the table of README.md.
	title string
	// harness is the binding's id; version is that of Codex, profile that of a scripted
	// ACP agent.
	harness, version, profile string
	// inReview: the agent's review takes feedback, so that it plans on in the same turn.
	inReview bool
	// live is the pinned version of the real one, where the lab has it.
	live string
}

var actors = []actor{
	{title: "Codex 0.171.0", harness: "codex", version: "0.171.0", live: "0.171.0"},
	{title: "Codex 0.153.4", harness: "codex", version: "0.153.4", live: "0.153.4"},
	{title: "Claude 0.101.0", harness: "claude", profile: scripted.ProfileClaude101, live: "0.101.0"},
	{title: "Claude 0.49.0", harness: "claude", profile: scripted.ProfileClaude049, live: "0.49.0"},
	{title: "Grok 1.0.41", harness: "grok", profile: scripted.ProfileGrok, inReview: true, live: "1.0.41"},
	{title: "Grok without config options", harness: "grok", profile: scripted.ProfileGrokLegacy, inReview: true},
	{title: "Kimchi of 2026-08-21", harness: "kimchi", profile: scripted.ProfileKimchi},
	{title: "ACP, config options only", harness: "book", profile: scripted.ProfileModern},
	{title: "ACP, modes only", harness: "book", profile: scripted.ProfileLegacy},
	{title: "ACP, both", harness: "book", profile: scripted.ProfileBoth},
}

// playedUnder are the permissions that each scenario is played under.
var playedUnder = map[string][]abi.Permission{
	"primary":          {abi.PermissionDefault, abi.PermissionAcceptEdits, abi.PermissionAuto, abi.PermissionBypass},
	"back-to-plan":     {abi.PermissionAcceptEdits, abi.PermissionAuto, abi.PermissionBypass},
	"restart":          {abi.PermissionBypass},
	"steer":            {abi.PermissionDefault},
	"stop-in-question": {abi.PermissionDefault},
	"stop-in-review":   {abi.PermissionBypass},
}

func TestScenarios_EveryHarnessPassesThemThroughTheLibrary(t *testing.T) {
	t.Parallel()
	seen := &support{}
	t.Run("played", func(t *testing.T) {
		for _, a := range actors {
			t.Run(a.title, func(t *testing.T) {
				t.Parallel()
				for _, s := range scenario.All() {
					for _, p := range playedUnder[s.Name] {
						if testing.Short() && p != abi.PermissionBypass {
							continue
						}
						t.Run(s.Name+" "+string(p), func(t *testing.T) {
							r, release := a.stage(t, s, p)
							perform(r, a, s, p, release, seen)
						})
					}
				}
			})
		}
	})
	if !t.Failed() && !partial() {
		seen.golden(t)
	}
}

// partial: only some of it is played, which cannot have shown everything.
func partial() bool {
	return testing.Short() || strings.Contains(flag.Lookup("test.run").Value.String(), "/")
}

func TestEveryScenarioIsPlayed(t *testing.T) {
	t.Parallel()
	var names []string
	for _, s := range scenario.All() {
		names = append(names, s.Name)
	}
	if played := slices.Sorted(maps.Keys(playedUnder)); !slices.Equal(names, played) {
		t.Errorf("the scenarios are %q, played are %q", names, played)
	}
}

// stage opens a host with one conversation on the scripted agent. release opens a gate
// of the scenario.
func (a actor) stage(t *testing.T, s scenario.Scenario, p abi.Permission) (r *rig, release func(string)) {
	t.Helper()
	r = &rig{t: t, dir: filepath.Join(t.TempDir(), "data"), cwd: projectDir(t), home: t.TempDir()}
	gates := t.TempDir()
	stage := scenario.Stage{Cwd: r.cwd, Gates: gates, Edits: edits(p)}
	var script any
	argv := []string{"acp", "--profile", a.profile, "--home", r.home}
	if a.profile == "" {
		script, argv = s.Codex(a.version, stage), []string{"app-server"}
	} else {
		script = s.ACP(a.profile, a.inReview, stage)
	}
	r.actor(a.harness, script, argv)
	return r, func(gate string) {
		if err := os.WriteFile(filepath.Join(gates, gate), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// projectDir is a folder whose path needs care (L2).
func projectDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "pro ject's äß")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// actor opens the host on a scripted agent.
func (r *rig) actor(harness string, script any, argv []string, opts ...func(*host.Config)) {
	r.t.Helper()
	t := r.t.(*testing.T)
	b, err := json.Marshal(script)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.home, "scripted.json"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r.cfg = host.Config{
		Dir: r.dir, CacheDir: filepath.Join(cacheDir, "cache"), DigestDir: filepath.Join(cacheDir, "digests"),
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.home, "CODEX_HOME=" + r.home},
		Launch: map[string]host.Launch{harness: {
			Argv: append([]string{self}, argv...),
			Env:  []string{scriptedEnv + "=1", "AO_SCRIPTED_CALLS=" + r.calls(), "GOCOVERDIR=" + os.Getenv("GOCOVERDIR")},
		}},
		EndGrace: 2 * time.Second,
	}
	patient(&r.cfg)
	for _, o := range opts {
		o(&r.cfg)
	}
	if r.h, err = host.Open(t.Context(), r.cfg); err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(r.close)
	if harness == "book" {
		r.dropBook()
	}
	c, err := r.h.Create(t.Context(), host.NewConversation{Harness: harness, Cwd: r.cwd})
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	r.conv = c.ID
	r.compiled(harness)
}

// compiling is the compiling of each harness's module, once.
var compiling sync.Map

// compiled has the module of a harness compiled before a test waits for anything else:
// with the race detector on a busy machine that alone can take more than a minute. The
// agent that is started for it belongs to another folder.
func (r *rig) compiled(harness string) {
	r.t.Helper()
	once, _ := compiling.LoadOrStore(harness, new(sync.Once))
	once.(*sync.Once).Do(func() {
		ctx, cancel := context.WithTimeout(r.t.Context(), 5*patience)
		defer cancel()
		c, err := r.h.Create(ctx, host.NewConversation{Harness: harness, Cwd: r.t.TempDir()})
		if err == nil {
			_, err = r.h.Probe(ctx, c.ID)
		}
		// An agent that wants a sign-in is started all the same.
		if err != nil && host.CodeOf(err) != host.CodeSignInNeeded {
			r.t.Fatalf("probe: %v", err)
		}
		// Only agents of the Agent Client Protocol note their calls.
		if err := os.Remove(r.calls()); err != nil && !errors.Is(err, os.ErrNotExist) {
			r.t.Fatal(err)
		}
	})
}

// calls is the file in which a scripted agent notes the methods it is called by.
func (r *rig) calls() string { return filepath.Join(r.home, "calls") }

// edits: under these permissions the scenarios' work is an edit of a file, which every
// harness asks for or lets through as an edit; else it is a command.
func edits(p abi.Permission) bool {
	return p == abi.PermissionDefault || p == abi.PermissionAcceptEdits
}

// performance is one scenario that is played.
type performance struct {
	*rig
	a          actor
	permission abi.Permission
	release    func(gate string)
	seen       *support

	manifest abi.Manifest
	catalog  abi.Catalog
	// planning and execution are the modes of that meaning.
	planning, execution abi.ModeChoice
	choice              abi.PermissionChoice
	// last is the last message's turn, before the one that it took the place of.
	last, before host.Turn
	plan         host.Proposal
	// plans are the texts of those to come.
	plans  []string
	person int
}

// perform plays a scenario through the methods that any client has.
func perform(r *rig, a actor, s scenario.Scenario, p abi.Permission, release func(string), seen *support) {
	r.t.Helper()
	x := &performance{rig: r, a: a, permission: p, release: release, seen: seen, plans: s.Plans()}
	x.meet()
	if s.Needs == scenario.NeedsReview && !slices.Contains(x.manifest.Vocabulary.Interactions, abi.InteractionReview) {
		return // its plans end the turn; stop-in-question is played
	}
	for i := range s.Person {
		x.step(&s.Person[i])
	}
	x.leave()
	seen.passed(a, s.Name)
}

// meet reads what the harness offers, before the first message.
func (x *performance) meet() {
	t := x.t
	t.Helper()
	list, err := x.h.Bindings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(b host.BindingInfo) bool { return b.Harness == x.a.harness && b.Allowed })
	if i < 0 {
		t.Fatalf("there is no binding of %s", x.a.harness)
	}
	x.manifest = list[i].Manifest
	c, err := x.h.Probe(t.Context(), x.conv)
	if err != nil {
		t.Fatalf("probe: %v", err)
	}
	x.catalog = *c.Catalog
	for _, m := range x.catalog.Modes {
		switch m.Meaning {
		case abi.MeaningPlanning:
			x.planning = m
		case abi.MeaningExecution:
			x.execution = m
		}
	}
	i = slices.IndexFunc(x.catalog.Permissions, func(p abi.PermissionChoice) bool { return p.Permission == x.permission })
	if x.planning.ID == "" || x.execution.ID == "" || i < 0 {
		t.Fatalf("catalog %+v", x.catalog)
	}
	x.choice = x.catalog.Permissions[i]
	if x.planning.EnforcedBy == "" {
		t.Errorf("nobody is said to enforce planning: %+v (rule 25)", x.planning)
	}
	x.seen.note(x.a, func(f *scenario.Support) {
		same(t, "plan", &f.Plan, string(x.planning.EnforcedBy))
		same(t, "steering", &f.Steering, string(c.Session.Capabilities.Steering))
		f.Images, f.Resume, f.Proves = c.Session.Capabilities.Images, c.Session.Capabilities.Resume, c.Session.Capabilities.ProvesDelivery
	})
}

func (x *performance) step(s *scenario.Step) {
	x.t.Helper()
	switch {
	case s.Configure != nil:
		x.chooses(s.Configure)
	case s.Send != "":
		x.sends(s.Send)
	case s.Steer != "":
		x.steers(s.Steer)
	case s.Answer != nil:
		x.answers(*s.Answer)
	case s.RequestChanges != "":
		x.requestsChanges(s.RequestChanges)
	case s.Implement:
		x.implements()
	case s.Work != "":
		x.works(s.Work)
	case s.Ends != "":
		x.ends(host.TurnState(s.Ends))
	case s.Stop:
		x.stops()
	case s.Restart:
		x.restarts()
	case s.Said != nil:
		x.said(s.Said)
	}
}

func (x *performance) chooses(c *scenario.Configure) {
	x.t.Helper()
	mode, p := x.execution.ID, x.permission
	if c.Mode == "planning" {
		mode = x.planning.ID
	}
	if c.Permission != "" {
		p = abi.Permission(c.Permission)
	}
	x.configure(host.SettingsPatch{Mode: &mode, Permission: &p})
}

func (x *performance) sends(text string) {
	t := x.t
	t.Helper()
	x.before, x.last = x.last, x.send(text)
	if x.last.Settings.Mode != x.planning.ID && x.choice.Support == abi.SupportNone {
		x.lacks(text)
	}
	if x.last.Settings.Mode == x.planning.ID {
		x.until("the turn to run or end", func() bool { s := x.turn(x.last.ID).State; return s == host.TurnRunning || s.Ended() })
		x.until("planning to be in force", func() bool { o := x.controls().Observed; return o != nil && o.Mode == x.planning.ID })
	}
}

// lacks holds what happens where the harness has no such permission: either another one
// is in force and that is told, or nothing is sent and another choice goes on (Q7, rule 25).
func (x *performance) lacks(text string) {
	t := x.t
	t.Helper()
	x.until("the permission to be told as missing", func() bool { return x.toldPermission() })
	x.until("the turn to run or end", func() bool { s := x.turn(x.last.ID).State; return s == host.TurnRunning || s.Ended() })
	if x.turn(x.last.ID).State != host.TurnNotSent {
		x.note(scenario.HadReported)
		return
	}
	if got := x.controls().Settings.Permission; got != x.permission {
		t.Errorf("remembered is %q: a choice that cannot be had is kept (rule 3)", got)
	}
	x.note(scenario.HadRefused)
	x.permission = abi.PermissionDefault
	i := slices.IndexFunc(x.catalog.Permissions, func(p abi.PermissionChoice) bool { return p.Permission == x.permission })
	x.choice = x.catalog.Permissions[i]
	x.configure(host.SettingsPatch{Permission: &x.permission})
	x.last = x.send(text)
}

func (x *performance) toldPermission() bool {
	return slices.ContainsFunc(x.controls().Problems, func(p abi.Problem) bool { return p.Field == "permission" })
}

// note writes down how the permission of the run is had.
func (x *performance) note(how string) {
	x.seen.note(x.a, func(f *scenario.Support) {
		if f.Permissions == nil {
			f.Permissions = map[string]string{}
		}
		p := string(x.permission)
		was := f.Permissions[p]
		same(x.t, p, &was, how)
		f.Permissions[p] = was
	})
}

func (x *performance) steers(text string) {
	x.t.Helper()
	x.until("the first words", func() bool { return len(bodies[any](x.rig, host.EventDelta)) > 0 || len(x.texts(abi.ItemMessage)) > 0 })
	x.before, x.last = x.last, x.steer(text)
	x.release(scenario.GateSteered)
	x.untilTurn(x.last.ID, host.TurnCompleted)
	x.until("the turn that was steered to be over", func() bool { return x.turn(x.before.ID).State.Ended() })
}

// answers picks an option of the open question; a form that is nothing but one choice
// is filled in by its schema.
func (x *performance) answers(n int64) {
	t := x.t
	t.Helper()
	card := x.untilInput()
	switch card.Ask.Type {
	case abi.InteractionQuestion:
		f := card.Ask.Fields
		if len(f) != 1 || f[0].Text == "" || len(f[0].Options) != 2 || f[0].Options[1].Label == "" || f[0].Options[1].Description == "" {
			t.Fatalf("the question is %+v (C6, rule 10)", card.Ask)
		}
		x.answer(card.ID, host.Answer{Fields: []abi.FieldAnswer{answered(f[0].ID, n)}})
	case abi.InteractionForm:
		var schema struct {
			Properties map[string]struct {
				OneOf []struct {
					Const string `json:"const"`
				} `json:"oneOf"`
			} `json:"properties"`
		}
		decode(t, card.Ask.Schema, &schema)
		content := map[string]string{}
		for name, p := range schema.Properties {
			content[name] = p.OneOf[n].Const
		}
		b, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		x.answer(card.ID, host.Answer{Action: abi.ActionAccept, Content: b})
	default:
		t.Fatalf("card %+v", card.Ask)
	}
	x.seen.note(x.a, func(f *scenario.Support) { same(t, "question", &f.Question, string(card.Ask.Type)) })
}

// reviews waits for the plan and checks what holds while it is read.
func (x *performance) reviews() {
	t := x.t
	t.Helper()
	was, text := x.plan.ID, x.plans[0]
	x.plans = x.plans[1:]
	// The text can come after the review (seen), as a revision.
	x.until("the plan "+text, func() bool {
		x.plan = x.untilPlan()
		return strings.TrimSpace(x.plan.Text) == text
	})
	if x.plan.ID == was {
		t.Errorf("the plan is the one before: %+v (P7)", x.plan)
	}
	review := scenario.ReviewEnds
	if x.plan.Route == abi.RouteNative {
		review = scenario.ReviewWaits
	} else {
		x.untilTurn(x.last.ID, host.TurnCompleted)
	}
	x.seen.note(x.a, func(f *scenario.Support) { same(t, "review", &f.Review, review) })
	c := x.controls()
	if c.Observed == nil || c.Observed.Mode != x.planning.ID {
		t.Errorf("in force while the plan is read: %+v (rule 6, P6)", c.Observed)
	}
	if c.Settings.Mode != x.planning.ID || c.Settings.Permission != x.permission {
		t.Errorf("remembered while the plan is read: %+v", c.Settings)
	}
}

func (x *performance) decision() host.PlanDecision {
	return host.PlanDecision{Proposal: x.plan.ID, Revision: x.plan.Revision}
}

func (x *performance) requestsChanges(text string) {
	t := x.t
	t.Helper()
	x.reviews()
	d := x.decision()
	d.Feedback = text
	turn, err := x.h.RequestChanges(t.Context(), x.conv, d)
	if err != nil {
		t.Fatalf("request changes: %v", err)
	}
	how := scenario.ChangesMessage
	if turn.ID == x.last.ID {
		how = scenario.ChangesInReview
	}
	x.seen.note(x.a, func(f *scenario.Support) { same(t, "changes", &f.Changes, how) })
	x.before, x.last = x.last, turn
	if again, err := x.h.RequestChanges(t.Context(), x.conv, d); err != nil || again.ID != turn.ID {
		t.Errorf("repeated it gives %s, %v (rule 17)", again.ID, err)
	}
}

func (x *performance) implements() {
	t := x.t
	t.Helper()
	x.reviews()
	turn, err := x.h.ContinuePlan(t.Context(), x.conv, x.decision())
	if err != nil {
		t.Fatalf("implement: %v", err)
	}
	if native := x.plan.Route == abi.RouteNative; native != (turn.ID == x.last.ID) {
		t.Errorf("the plan's route is %s and it goes on as turn %s after %s (rule 18)", x.plan.Route, turn.ID, x.last.ID)
	}
	x.before, x.last = x.last, turn
	if s := x.controls().Settings; s.Mode != x.execution.ID || s.Permission != x.permission {
		t.Errorf("remembered after it: %+v (rule 17)", s)
	}
	x.until("the remembered permission to be in force, or the difference to be told", func() bool {
		o := x.controls().Observed
		switch {
		case o == nil || o.Mode != x.execution.ID:
			return false
		case x.choice.Support == abi.SupportNone:
			return x.toldPermission()
		}
		return o.Permission == x.permission
	})
	x.release("in force")
	again, err := x.h.ContinuePlan(t.Context(), x.conv, x.decision())
	if err != nil || again.ID != turn.ID {
		t.Errorf("repeated it gives %s, %v (rule 17)", again.ID, err)
	}
}

// works sees the work done under the permission that is in force, asked or not.
func (x *performance) works(file string) {
	t := x.t
	t.Helper()
	if x.choice.Support == abi.SupportNone || x.permission == abi.PermissionDefault {
		card := x.untilInput()
		shown := card.Ask.Title + card.Ask.Command + string(card.Ask.Detail)
		if card.Ask.Type != abi.InteractionPermission || !strings.Contains(shown, file) {
			t.Fatalf("card %+v (C8)", card.Ask)
		}
		if told := x.toldPermission(); told != (x.choice.Support == abi.SupportNone) {
			t.Errorf("while it works: problems %+v (rule 25)", x.controls().Problems)
		}
		x.answer(card.ID, host.Answer{Decision: decision(t.(*testing.T), card, abi.AllowOnce)})
		x.person++
	}
	x.until("the work to be done", func() bool {
		b, err := os.ReadFile(filepath.Join(x.cwd, file))
		return err == nil && string(b) == scenario.Noted
	})
	if x.choice.Support != abi.SupportNone && x.toldPermission() {
		t.Errorf("problems %+v", x.controls().Problems)
	}
	if how := map[abi.Support]string{abi.SupportNative: scenario.HadNative, abi.SupportStandIn: scenario.HadStandIn}[x.choice.Support]; how != "" {
		x.note(how)
	}
}

func (x *performance) ends(want host.TurnState) {
	x.t.Helper()
	x.untilTurn(x.last.ID, want)
	if x.before.ID != "" {
		x.until("the turn before to be over", func() bool { return x.turn(x.before.ID).State.Ended() })
	}
}

// stops takes back what is open: a question, or a review with its plan.
func (x *performance) stops() {
	t := x.t
	t.Helper()
	card := x.untilInput()
	if card.Ask.Type == abi.InteractionReview {
		x.reviews()
	}
	x.stop(host.StopOptions{Turn: x.last.ID})
	x.untilTurn(x.last.ID, host.TurnInterrupted)
	if in, err := x.h.Inputs(t.Context(), x.conv); err != nil || len(in) != 0 {
		t.Errorf("after the stop these are open: %+v, %v (A4)", in, err)
	}
	if card.Ask.Type == abi.InteractionReview {
		if p := x.rig.plan(x.plan.ID); p.State != host.ProposalExpired {
			t.Errorf("the plan is %s (P1)", p.State)
		}
	}
	_, err := x.h.ResolveInput(t.Context(), x.conv, card.ID, host.Answer{})
	if err == nil {
		t.Error("the card that was taken back can be answered (A4)")
	}
	if s := x.controls().Settings; s.Mode != x.planning.ID {
		t.Errorf("remembered after the stop: %+v", s)
	}
}

func (x *performance) restarts() {
	t := x.t
	t.Helper()
	native := x.controls().Session.NativeSession
	x.restart()
	if c := x.controls(); c.CatalogState != host.CatalogUnread || c.Observed != nil {
		t.Errorf("at rest: %s, %+v (rule 9)", c.CatalogState, c.Observed)
	}
	c, err := x.h.Probe(t.Context(), x.conv)
	if err != nil {
		t.Fatalf("probe: %v", err)
	}
	if c.Session.NativeSession != native {
		t.Errorf("the session is %s, was %s (S6)", c.Session.NativeSession, native)
	}
}

func (x *performance) said(want []string) {
	x.t.Helper()
	var got []string
	for _, text := range x.texts(abi.ItemMessage) {
		got = append(got, strings.TrimSpace(text))
	}
	if !slices.Equal(got, want) {
		x.t.Errorf("the agent said %q, want %q (S5)", got, want)
	}
}

// leave checks the whole journal.
func (x *performance) leave() {
	t := x.t
	t.Helper()
	var person, byHost int
	for _, in := range x.untilClosed() {
		switch {
		case in.Ask.Type != abi.InteractionPermission:
		case in.Automatic != "":
			byHost++
		default:
			person++
		}
	}
	if person != x.person {
		t.Errorf("a person was asked for %d permissions, want %d", person, x.person)
	}
	if (byHost > 0) != (x.choice.Support == abi.SupportStandIn && x.person == 0 && x.worked()) {
		t.Errorf("the host answered %d requests, and the permission is %s", byHost, x.choice.Support)
	}
	for _, what := range dishonest(x.rig) {
		t.Error(what)
	}
	if left := x.controls(); left.Queue.Held || len(left.Queue.Turns) != 0 {
		t.Errorf("the queue is left as %+v", left.Queue)
	}
}

// worked: some work of the scenario was done.
func (x *performance) worked() bool {
	files, err := os.ReadDir(x.cwd)
	return err == nil && slices.ContainsFunc(files, func(f os.DirEntry) bool { return strings.HasSuffix(f.Name(), ".md") })
}

// same sets a fact, or fails where it was another one before.
func same(t testing.TB, what string, is *string, now string) {
	t.Helper()
	if *is != "" && *is != now {
		t.Errorf("%s is %q, and was %q", what, now, *is)
	}
	*is = now
}

// support collects the facts of all harnesses.
type support struct {
	mu   sync.Mutex
	rows map[string]*scenario.Support
}

func (s *support) note(a actor, write func(*scenario.Support)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rows == nil {
		s.rows = map[string]*scenario.Support{}
	}
	f := s.rows[a.title]
	if f == nil {
		f = &scenario.Support{Title: a.title, Live: a.live != ""}
		s.rows[a.title] = f
	}
	write(f)
}

func (s *support) passed(a actor, name string) {
	s.note(a, func(f *scenario.Support) {
		if !slices.Contains(f.Passed, name) {
			f.Passed = append(f.Passed, name)
		}
	})
}

// supportFile is what the table in README.md is made of.
var supportFile = filepath.Join("testdata", "support.json")

// golden holds what was seen to the golden file, of every harness that was played.
func (s *support) golden(t *testing.T) {
	t.Helper()
	var rows []*scenario.Support
	for _, a := range actors {
		f := s.rows[a.title]
		if f == nil {
			t.Fatalf("%s was not played; run the test as a whole", a.title)
		}
		rows = append(rows, f)
	}
	b, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	b = append(b, '\n')
	if *update {
		// Then: make support-table
		if err := os.WriteFile(supportFile, b, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(supportFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(b) {
		t.Errorf("%s is not what was seen; if that is meant, run: go test ./host -run ^TestScenarios_ -update, and make support-table\n%s", supportFile, b)
	}
}

// dishonest lists what must not happen on any harness, whatever the test is about:
// frames that the packed schemas do not know, frames of ours that were refused, binding
// faults.
func dishonest(r *rig) (out []string) {
	r.t.Helper()
	bad := []host.Code{host.CodeSchemaViolation, host.CodeOutboundSchema, host.CodeCallRefused, host.CodeReplyRefused,
		host.CodeBindingFault, host.CodeLineSkipped, host.CodeProviderVersion}
	for _, w := range bodies[abi.Warning](r, host.EventWarning) {
		if slices.Contains(bad, host.Code(w.Code)) {
			out = append(out, fmt.Sprintf("warning %s: %s", w.Code, w.Message))
		}
	}
	for _, p := range bodies[abi.Problem](r, host.EventProblem) {
		if slices.Contains(bad, host.Code(p.Code)) {
			out = append(out, fmt.Sprintf("problem %s %s: %s", p.Code, p.Field, p.Message))
		}
	}
	return out
}
