package host

import (
	"context"
	"path/filepath"
)

// Relocation names the folder a conversation goes on in.
type Relocation struct {
	// Cwd is an absolute path.
	Cwd string `json:"cwd"`
}

// Relocate lets a conversation go on in another working directory, after a
// worktree was moved or removed (L3). The history stays. A process that runs in
// the old directory is replaced before the next turn (rule 7); what runs is not
// disturbed.
// A harness that keeps its sessions by directory may not find this one again:
// then it continues in a fresh one, with one warning (rule 23). The queue is not
// released: see ResumeQueue.
//
// Errors: working_directory_missing, working_directory_not_a_directory,
// invalid_argument for a path that is not absolute.
func (h *Host) Relocate(ctx context.Context, conversation, dir string) (Conversation, error) {
	real, err := checkDir(dir)
	if err != nil {
		return Conversation{}, err
	}
	c, err := h.actor(ctx, conversation)
	if err != nil {
		return Conversation{}, err
	}
	return ask(ctx, c, func() (Conversation, error) {
		if c.closing {
			return Conversation{}, &Error{Code: CodeClosed}
		}
		to := filepath.Clean(dir)
		if c.row.Cwd != to || c.row.RealCwd != real {
			err := c.transact(ctx, func() error {
				c.row.Cwd, c.row.RealCwd = to, real
				c.saveRow()
				c.journalValue(EventRelocated, "", Relocation{Cwd: to})
				for _, code := range []Code{CodeWorkingDirMissing, CodeWorkingDirNotDir, CodeWorkingDirChanged} {
					c.dropProblem(code)
				}
				return nil
			})
			if err != nil {
				return Conversation{}, err
			}
		}
		return h.Conversation(ctx, conversation)
	})
}
