//go:build !wasip1

package guest

// Register exists outside of wasip1 so that a module's main package compiles
// and can be vetted natively. Run the reducer with [NewMachine] there.
func Register(Reducer) {}
