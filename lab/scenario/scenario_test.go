package scenario_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/lab/model"
	"github.com/aoagents/ao-host/lab/scenario"
	"github.com/aoagents/ao-host/lab/scripted"
)

func TestEveryScenarioMakesScriptsThatEveryAgentTakes(t *testing.T) {
	stage := scenario.Stage{Cwd: t.TempDir(), Gates: t.TempDir()}
	for _, s := range scenario.All() {
		t.Run(s.Name, func(t *testing.T) {
			for _, edits := range []bool{true, false} {
				stage.Edits = edits
				for _, profile := range scripted.Profiles {
					for _, inReview := range []bool{true, false} {
						if _, err := scripted.ParseACP(encoded(t, s.ACP(profile, inReview, stage))); err != nil {
							t.Errorf("%s: %v", profile, err)
						}
					}
				}
				for _, version := range []string{scripted.Version171, scripted.Version153} {
					if _, err := scripted.Parse(encoded(t, s.Codex(version, stage))); err != nil {
						t.Errorf("%s: %v", version, err)
					}
				}
				for _, harness := range []string{"codex", "claude", "grok"} {
					if _, err := model.Parse(encoded(t, s.Model(harness, stage))); err != nil {
						t.Errorf("%s: %v", harness, err)
					}
				}
			}
		})
	}
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAScenarioThatMakesNoSenseIsRefused(t *testing.T) {
	const good = `{"name":"x","about":"y","agent":[{"on":"a","do":[{"work":"f"},{"plan":{"text":"p","approved":[{"say":"z"}]}}]}],"person":[{"send":"a"}]}`
	if _, err := scenario.Parse([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to, want string }{
		{`"y"`, `""`, "needs name, about"},
		{`"about"`, `"abuot"`, "unknown field"},
		{`"on":"a"`, `"on":""`, "on no message"},
		{`{"work":"f"}`, `{"work":"f","say":"g"}`, "has 2 of the members"},
		{`{"work":"f"}`, `{"work":"../f"}`, "leaves the working directory"},
		{`{"work":"f"}`, `{"say":"f"}`, "nothing follows"},
		{`{"say":"z"}`, `{"work":"z"}`, "a turn ends with"},
		{`,"approved":[{"say":"z"}]`, ``, "either changed or approved"},
		{`{"send":"a"}`, `{}`, "has 0 of the members"},
		{`{"send":"a"}`, `{"configure":{"mode":"plan"}}`, "neither planning nor execution"},
		{`"agent"`, `"needs":"luck","agent"`, "can be needed"},
		{`}]}`, `}]} {}`, "after its end"},
	} {
		text := strings.Replace(good, c.from, c.to, 1)
		if c.want == "after its end" {
			text = good + "{}"
		}
		if _, err := scenario.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", text, err, c.want)
		}
	}
}

func TestTheTableInTheReadmeIsWhatTheScenariosShowed(t *testing.T) {
	root := filepath.Join("..", "..")
	data, err := os.ReadFile(filepath.Join(root, "host", "testdata", "support.json"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := scenario.ReadSupport(data)
	if err != nil || len(rows) == 0 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := scenario.Replace(readme, scenario.Table(rows))
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(readme) {
		t.Error("the support table in README.md is not what the scenarios showed; run: make support-table")
	}
}

func TestTheTableTakesThePlaceOfWhatStoodBetweenItsLinesAndNothingElse(t *testing.T) {
	doc := "a\n" + scenario.TableBegin + "\nold\n" + scenario.TableEnd + "\nb\n"
	got, err := scenario.Replace([]byte(doc), "| new |\n")
	if want := strings.Replace(doc, "old", "| new |", 1); err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := scenario.Replace([]byte("nothing"), ""); err == nil {
		t.Error("a document without the lines is taken")
	}
}
