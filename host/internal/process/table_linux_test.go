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
