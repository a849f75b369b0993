package lists_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/bindings-src/lists"
)

func read(b *lists.Bound, text string) (got []string, whole bool) {
	var d jsonwire.Decoder
	d.Reset([]byte(text))
	b.Each(&d, func(d *jsonwire.Decoder) {
		if d.Kind() == jsonwire.Array {
			b.Each(d, func(d *jsonwire.Decoder) { got = append(got, d.String()) })
			return
		}
		got = append(got, d.String())
	})
	return got, d.End()
}

func array(n int, element string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + "]"
}

func TestElementsBeyondTheBoundAreCountedAndTheRestOfTheMessageIsStillRead(t *testing.T) {
	var b lists.Bound
	got, whole := read(&b, array(lists.MaxElements+7, `"x"`))
	if len(got) != lists.MaxElements || b.Left != 7 || !whole {
		t.Fatalf("read %d, left out %d, whole %t", len(got), b.Left, whole)
	}
	if said := b.Told(""); !strings.Contains(said, "7 further entries") {
		t.Errorf("told %q", said)
	}
}

func TestTheListsInsideOfAListShareItsBound(t *testing.T) {
	var b lists.Bound
	inner := array(lists.MaxElements/2, `"x"`)
	got, _ := read(&b, "["+inner+","+inner+","+inner+"]")
	// The two lists that were entered are elements themselves.
	if len(got) != lists.MaxElements-2 || b.Left != 3 {
		t.Fatalf("read %d, left out %d", len(got), b.Left)
	}
}

func TestAListThatIsKeptIsBoundedInBytesAndOneHugeElementDoesNotHideTheRest(t *testing.T) {
	b := lists.Bound{Keeps: true}
	huge := `"` + strings.Repeat("h", lists.MaxKept) + `"`
	got, whole := read(&b, `["a",`+huge+`,"b",["c","d"]]`)
	if !slices.Equal(got, []string{"a", "b", "c", "d"}) || b.Left != 1 || !whole || b.Bytes > 100 {
		t.Fatalf("read %q, left out %d, whole %t, %d bytes", got, b.Left, whole, b.Bytes)
	}
}

func TestNothingIsToldOfAListThatFits(t *testing.T) {
	var b lists.Bound
	if got, _ := read(&b, `["a"]`); len(got) != 1 || b.Told("before") != "" {
		t.Fatalf("read %q, told %q", got, b.Told("before"))
	}
}

func TestTheIndexFindsTheFirstElementOfEachId(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOf(rapid.SampledFrom([]string{"", "a", "b", "ab", "c"})).Draw(t, "ids")
		x := lists.NewIndex(len(ids), func(i int) string { return ids[i] })
		for _, id := range []string{"", "a", "ab", "z"} {
			if got, want := x.First(id), slices.Index(ids, id); got != want {
				t.Fatalf("the first %q is %d, want %d", id, got, want)
			}
		}
		var want []string
		for _, id := range ids {
			if !slices.Contains(want, id) {
				want = append(want, id)
			}
		}
		if got, want := x.Repeats(), len(want) != len(ids); got != want {
			t.Fatalf("repeats %t, want %t", got, want)
		}
		if got := lists.Unique(slices.Clone(ids), func(s *string) string { return *s }); !slices.Equal(got, want) {
			t.Fatalf("unique %q, want %q", got, want)
		}
	})
}

func TestIdsThatAllRepeatCostNoSquare(t *testing.T) {
	ids := make([]string, 1_000)
	for i := range ids {
		ids[i] = strconv.Itoa(i % 2)
	}
	asked := 0
	lists.Unique(ids, func(s *string) string { asked++; return *s })
	if asked > 100_000 {
		t.Fatalf("%d ids were looked at for %d elements", asked, len(ids))
	}
}
