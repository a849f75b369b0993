package engine

// slice is how much fuel a guest gets at a time: about a tenth of a millisecond
// of work. In between the host looks whether to stop it and lets other
// goroutines run, which cannot interrupt compiled code by themselves.
const slice = 1 << 16

// tank is the fuel of one call. The counter inside of the module holds what is
// left of the current slice.
type tank struct {
	budget int64
	rest   int64 // not handed out yet
}

// fill starts a call and returns the first value of the counter.
func (t *tank) fill(budget int64) int64 {
	give := min(slice, budget)
	t.budget, t.rest = budget, budget-give
	return give
}

// next returns the next value of the counter, given the present negative one;
// false when the budget is spent.
func (t *tank) next(counter int64) (int64, bool) {
	left := t.rest + counter
	if left < 0 {
		return 0, false
	}
	give := min(slice, left)
	t.rest = left - give
	return give, true
}

// take charges work the host did for the guest; the guest notices at the next
// refill.
func (t *tank) take(units int64) { t.rest -= units }

// used is what the call has used, given the counter.
func (t *tank) used(counter int64) int64 { return min(t.budget, t.budget-t.rest-counter) }

// spent reports a call that ended before the overdraft was noticed.
func (t *tank) spent(counter int64) bool { return t.rest+counter < 0 }
