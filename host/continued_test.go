package host_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// asking asks n times in every turn; the rogue binding says of the later questions
// that they continue an earlier one.
func asking(n int) string {
	ask := `{"ask":{"id":"q","questions":[{"id":"a","question":"Go on?","options":[{"label":"yes","description":""},{"label":"no","description":""}]}]}},`
	return `{"turns":[{"repeat":true,"steps":[` + strings.Repeat(ask, n) + `{"say":"Done."}]}]}`
}

func (r *rig) untilPart(n int) host.Interaction {
	r.t.Helper()
	card := r.untilInput()
	if want := "part " + strconv.Itoa(n); card.Ask.Key != want {
		r.t.Fatalf("the person is asked %q, not %q", card.Ask.Key, want)
	}
	return card
}

func TestOneAnswerHoldsForTheOtherPartsOfItsQuestion(t *testing.T) {
	t.Parallel()
	r := newRogueRig(t, asking(3))
	turn := r.send("continue")
	r.answer(r.untilPart(1).ID, host.Answer{Fields: []abi.FieldAnswer{answered("a", 1)}})
	r.untilTurn(turn.ID, host.TurnCompleted)
	if got, want := r.warnings("rogue"), []string{"part 1: no", "part 2: no", "part 3: no"}; !slices.Equal(got, want) {
		t.Fatalf("the binding was given %q", got)
	}
	// The journal tells that no person answered the later ones.
	automatic := map[string]string{}
	for _, x := range bodies[host.Interaction](r, host.EventInteraction) {
		automatic[x.Ask.Key] = x.Automatic
	}
	if automatic["part 1"] != "" || automatic["part 2"] != host.RuleContinued || automatic["part 3"] != host.RuleContinued {
		t.Fatalf("answered by %v", automatic)
	}
}

func TestTheRestOfAQuestionIsShownWhereNoPersonAnsweredItsFirstPart(t *testing.T) {
	t.Parallel()
	for _, words := range []string{"each", "later", "itself", "permission"} {
		t.Run(words, func(t *testing.T) {
			r := newRogueRig(t, asking(3))
			turn := r.send("continue " + words)
			r.answer(r.untilPart(1).ID, host.Answer{Fields: []abi.FieldAnswer{answered("a", 0)}})
			if words == "later" || words == "itself" {
				r.answer(r.untilPart(2).ID, host.Answer{Fields: []abi.FieldAnswer{answered("a", 1)}})
			}
			last := r.untilPart(3)
			if words == "permission" {
				r.answer(last.ID, host.Answer{Decision: "decline"})
			} else {
				r.answer(last.ID, host.Answer{Fields: []abi.FieldAnswer{answered("a", 1)}})
			}
			r.untilTurn(turn.ID, host.TurnCompleted)
		})
	}
}

func TestAnAnswerDoesNotHoldForTheNextTurn(t *testing.T) {
	t.Parallel()
	r := newRogueRig(t, asking(1))
	for n := range 2 {
		turn := r.send("continue")
		r.answer(r.untilPart(n+1).ID, host.Answer{Fields: []abi.FieldAnswer{answered("a", 0)}})
		r.untilTurn(turn.ID, host.TurnCompleted)
	}
}

func TestOneAnswerCannotBeStretchedWithoutEnd(t *testing.T) {
	t.Parallel()
	r := newRogueRig(t, asking(66))
	turn := r.send("continue")
	r.answer(r.untilPart(1).ID, host.Answer{Fields: []abi.FieldAnswer{answered("a", 0)}})
	r.answer(r.untilPart(66).ID, host.Answer{Fields: []abi.FieldAnswer{answered("a", 1)}})
	r.untilTurn(turn.ID, host.TurnCompleted)
}
