package benchtable_test

import (
	"strings"
	"testing"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/benchtable"
)

const output = `goos: linux
goarch: amd64
pkg: example.org/team/module/store
cpu: A Processor @ 2.00GHz
BenchmarkAppend/batched-2         	    1200	     1000000 ns/op	    200000 rows/s	  2048 B/op	      12 allocs/op
BenchmarkAppend/batched-2         	    1100	     1200000 ns/op	    180000 rows/s	  2050 B/op	      12 allocs/op
BenchmarkAppend/batched-2         	    1100	     5000000 ns/op	     90000 rows/s	  2048 B/op	      12 allocs/op
some log line of a test
BenchmarkRead-8                   	  100000	        12.34 ns/op
BenchmarkRead-8                   	  100000	        14.34 ns/op
PASS
ok  	example.org/team/module/store	3.2s
pkg: example.org/team/module/abi
BenchmarkRead-8                   	     100	   2345678 ns/op	   9000000 B/op	       3 allocs/op
BenchmarkGrow-8                   	     100	   12 ns/op	   15.5 MiB-growth	   1.5 s
BenchmarkBroken-8                 	     100	   x ns/op
`

func TestAnOutputWithoutResultsIsAnError(t *testing.T) {
	if _, _, err := benchtable.Parse(strings.NewReader("PASS\nok  \tx\t1s\n")); err == nil {
		t.Error("no error")
	}
}

func TestOnlyWhatIsBetweenTheMarkersIsReplaced(t *testing.T) {
	doc := "# Title\n" + benchtable.Begin + "\nold\n" + benchtable.End + "\nrest\n"
	got, err := benchtable.Replace([]byte(doc), "new\n")
	if err != nil {
		t.Fatal(err)
	}
	if want := "# Title\n" + benchtable.Begin + "\nnew\n" + benchtable.End + "\nrest\n"; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
	again, err := benchtable.Replace(got, "new\n")
	if err != nil || string(again) != string(got) {
		t.Errorf("a second time: %q, %v", again, err)
	}
	for _, bad := range []string{"", benchtable.Begin, benchtable.End + benchtable.Begin} {
		if _, err := benchtable.Replace([]byte(bad), "new"); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
