package lists

import "strconv"

// Names joins names for a person to read: those that fit, and how many do not.
type Names struct {
	// Room is for how many bytes of names there is room; 0 is for all.
	Room int

	b    []byte
	left int
}

// Add adds a name.
func (n *Names) Add(name []byte) {
	if n.Room > 0 && len(n.b)+len(name) > n.Room {
		n.left++
		return
	}
	if len(n.b) > 0 {
		n.b = append(n.b, ", "...)
	}
	n.b = append(n.b, name...)
}

// String is the list, "" without names.
func (n *Names) String() string {
	switch {
	case n.left > 0 && len(n.b) > 0:
		return string(n.b) + " and " + strconv.Itoa(n.left) + " more"
	case n.left > 0:
		return strconv.Itoa(n.left) + " with long names"
	}
	return string(n.b)
}
