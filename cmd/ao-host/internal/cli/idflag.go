package cli

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// id is a flag that names something and must not be empty: an empty one usually is
// a variable of a script that was not set, and then "the one there is" would be
// something else than what was meant.
type id string

// Set, String and Type make it a flag.
func (i *id) Set(s string) error {
	if s == "" {
		return errors.New("it is empty")
	}
	*i = id(s)
	return nil
}

func (i *id) String() string { return string(*i) }

// Type is what the help calls the value.
func (i *id) Type() string { return "string" }

func idFlag(fl *pflag.FlagSet, p *string, name, short, usage string) {
	fl.VarP((*id)(p), name, short, usage)
}

// noneEmpty refuses arguments that are empty, for the same reason.
func noneEmpty(cmd *cobra.Command, args []string) error {
	for _, a := range args {
		if a == "" {
			return &usageError{text: "an argument of " + cmd.CommandPath() + " is empty", command: cmd.CommandPath()}
		}
	}
	return nil
}
