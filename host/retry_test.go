package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/store"
)

// The first end of a turn that runs once more is not where its work ends.
func TestQ8_ARetryLooksAtAllThatATurnDidWhichWasPutBackIntoTheQueue(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"when":{"turn":2},"steps":[{"run":{"command":"make deploy","approve":false}},{"say":"Deployed."}]},{"repeat":true,"steps":[{"say":"Done."}]}]}`,
		func(c *host.Config) { c.LeaveIdle = true })
	turn := r.send("Deploy it")
	r.untilTurn(turn.ID, host.TurnCompleted)
	r.close()
	// As the crash of a host leaves a message that never arrived.
	r.stored(undo(turn.ID, store.TurnDispatched), unseen(turn.ID))
	r.open()
	if _, err := r.h.Probe(t.Context(), r.conv); err != nil {
		t.Fatal(err)
	}
	r.untilTurn(turn.ID, host.TurnCompleted)
	_, err := r.h.Retry(t.Context(), r.conv, turn.ID, host.RetryRequest{})
	wantCode(t, err, host.CodeRetryRepeatsWork)
}

func TestQ8_ARetryOfASteerLooksAtWhatTheTurnDidThatItWentInto(t *testing.T) {
	t.Parallel()
	gate := filepath.Join(t.TempDir(), "gate")
	r := newRig(t, fmt.Sprintf(`{"turns":[{"when":{"turn":1},"steps":[{"run":{"command":"make check","approve":false}},{"say":"Working."},{"wait_steer":true},{"say":"Heard."},{"wait_file":%q},{"say":"Nearly."},{"wait_steer":true},{"run":{"command":"make install","approve":false}},{"say":"Installed."}]},{"repeat":true,"steps":[{"say":"Again."}]}]}`, gate))
	said := func(text string) {
		t.Helper()
		r.until("the agent to say "+text, func() bool { return slices.Contains(r.texts(abi.ItemMessage), text) })
	}
	turn := r.send("Begin")
	said("Working.")
	talk := r.steer("go on")
	r.untilTurn(talk.ID, host.TurnCompleted)
	said("Heard.")
	_, err := r.h.Retry(t.Context(), r.conv, talk.ID, host.RetryRequest{})
	wantCode(t, err, host.CodeTurnNotRetryable)
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	said("Nearly.")
	install := r.steer("install it")
	r.untilTurn(install.ID, host.TurnCompleted)
	r.untilTurn(turn.ID, host.TurnCompleted)
	_, err = r.h.Retry(t.Context(), r.conv, install.ID, host.RetryRequest{})
	wantCode(t, err, host.CodeRetryRepeatsWork)
	if !strings.Contains(err.Error(), "make install") {
		t.Errorf("%q tells what was done before the steer", err)
	}
	again, err := r.h.Retry(t.Context(), r.conv, install.ID, host.RetryRequest{RepeatWork: true})
	if err != nil {
		t.Fatal(err)
	}
	r.untilTurn(again.ID, host.TurnCompleted)
}

func TestARetryReadsTheJournalToTheEndOfItsTurnOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t, echo)
	talked := r.send("Go")
	r.untilTurn(talked.ID, host.TurnCompleted)
	next := r.send("And now")
	r.untilTurn(next.ID, host.TurnCompleted)
	// What is behind the end would be found if it was read.
	r.sql(fmt.Sprintf(`UPDATE event SET turn_id = '%s', body = CAST('{"turn":"%[1]s","id":"x","type":"command","status":"completed","title":"make"}' AS BLOB)
		WHERE turn_id = '%s' AND type = 'item'`, talked.ID, next.ID))
	again, err := r.h.Retry(t.Context(), r.conv, talked.ID, host.RetryRequest{})
	if err != nil {
		t.Fatal(err)
	}
	r.untilTurn(again.ID, host.TurnCompleted)
}
