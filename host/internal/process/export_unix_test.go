//go:build linux || darwin

package process

// ParentOf is the number of a process's parent, 0 where there is no such process.
func ParentOf(pid int) (int, error) {
	p, _, err := inspect(pid)
	return p.ppid, err
}
