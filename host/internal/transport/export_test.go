package transport

// Cost is what a frame takes of the window, in bytes.
func Cost(f *Frame) int { return f.cost() }
