package process

import "syscall"

// awaitExit waits for the child and collects it. Darwin has no waitid that
// leaves the child in place and can be relied upon, so from here on the group is
// signalled process by process.
func (p *Process) awaitExit() Exit {
	state, err := p.os.Wait()
	p.reaping.Lock()
	p.reaped = true
	p.reaping.Unlock()
	if err != nil {
		return Exit{Code: -1}
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return Exit{Code: -1, Signal: signalName(ws.Signal())}
	}
	return Exit{Code: state.ExitCode()}
}
