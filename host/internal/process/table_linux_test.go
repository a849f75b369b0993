package process

import "testing"

// parseStat is tested from inside: a command name with parentheses cannot be
// arranged from outside on every machine.

func TestAProcessNameWithSpacesAndParenthesesDoesNotShiftTheFields(t *testing.T) {
	line := "4242 (a) R 1 (b) S 17 4242 99 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 123456 1000 200 18446744073709551615\n"
	p, err := parseStat([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	if p.pid != 4242 || p.ppid != 17 || p.session != 99 || p.dead || p.start&(1<<bootShift-1) != 123456 || p.start>>bootShift != boot() {
		t.Errorf("got %+v", p)
	}
	zombie, err := parseStat([]byte("7 (x) Z 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0\n"))
	if err != nil || !zombie.dead {
		t.Errorf("got %+v, %v", zombie, err)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("1 (init) S 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0"))
	f.Add([]byte(") ("))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := parseStat(b); err == nil && p.start>>bootShift != boot() && p.start&(1<<bootShift-1) == 0 {
			t.Errorf("%q became %+v", b, p)
		}
	})
}

func TestASessionOfAnotherBootIsGone(t *testing.T) {
	const leader = 100
	now, before := boot()<<bootShift|5000, (boot()^1)<<bootShift|5000
	rows := tableOf(proc{pid: 101, session: leader, start: now + 10})
	if got := rows.inSession(leader, before, before); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	if got := rows.inSession(leader, now, now); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestAChildThatLeftSomethingBehindKeepsItsPidUntilEnd(t *testing.T) {
	p, err := Start(Spec{Argv: []string{"/bin/sh", "-c", "sleep 60 & exit 3"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Stdout().Close() }()
	<-p.Done()
	if row, ok, err := inspect(p.PID()); err != nil || !ok || !row.dead || row.start != p.StartTime() {
		t.Errorf("the pid is free for others while the group has members: %+v %v %v", row, ok, err)
	}
	if err := p.End(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if row, ok, _ := inspect(p.PID()); ok {
		t.Errorf("the child is not collected: %+v", row)
	}
}
