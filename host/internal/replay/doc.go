// Package replay is the input log of a session: how its inputs are written down,
// and how they are run again through a fresh instance (DESIGN §6).
//
// A binding is a deterministic reducer, so a replay must give the bytes it gave
// before. The log holds a digest of each step's output to compare with, and the
// saved state is compared where the replay passes it. The effects of a replay are
// not carried out: they were committed with their input.
package replay
