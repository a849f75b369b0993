package schemas

import (
	"encoding/json"
	"fmt"
)

// Direction says which way a frame travels.
type Direction uint8

// The two directions.
const (
	ToProvider Direction = iota + 1
	FromProvider
)

var directionNames = []string{ToProvider: "to_provider", FromProvider: "from_provider"}

// String returns "to_provider" or "from_provider".
func (d Direction) String() string { return nameOf(directionNames, d) }

// MarshalText writes the name of the direction.
func (d Direction) MarshalText() ([]byte, error) { return marshalName(directionNames, d) }

// UnmarshalText reads the name of a direction.
func (d *Direction) UnmarshalText(b []byte) error { return unmarshalName(directionNames, d, b) }

// reverse is the direction of the answer.
func (d Direction) reverse() Direction {
	if d == ToProvider {
		return FromProvider
	}
	return ToProvider
}

// Kind says which part of the protocol a payload is.
type Kind uint8

// The kinds of payloads. Result and ErrorObject belong to the method of the
// request they answer.
const (
	// Request is the params member of a request.
	Request Kind = iota + 1
	// Notification is the params member of a notification.
	Notification
	// Result is the result member of a response.
	Result
	// ErrorObject is the error member of a response.
	ErrorObject
)

var kindNames = []string{Request: "request", Notification: "notification", Result: "result", ErrorObject: "error"}

// String returns "request", "notification", "result" or "error".
func (k Kind) String() string { return nameOf(kindNames, k) }

// MarshalText writes the name of the kind.
func (k Kind) MarshalText() ([]byte, error) { return marshalName(kindNames, k) }

// UnmarshalText reads the name of a kind.
func (k *Kind) UnmarshalText(b []byte) error { return unmarshalName(kindNames, k, b) }

func nameOf[T ~uint8](names []string, v T) string {
	if int(v) < len(names) && names[v] != "" {
		return names[v]
	}
	return fmt.Sprintf("invalid(%d)", uint8(v))
}

func marshalName[T ~uint8](names []string, v T) ([]byte, error) {
	if int(v) >= len(names) || names[v] == "" {
		return nil, fmt.Errorf("schemas: %d is not one of %q", uint8(v), names[1:])
	}
	return []byte(names[v]), nil
}

func unmarshalName[T ~uint8](names []string, v *T, b []byte) error {
	for i, n := range names {
		if n != "" && n == string(b) {
			*v = T(i)
			return nil
		}
	}
	return fmt.Errorf("schemas: %.40q is not one of %q", b, names[1:])
}

// Method is one row of a provider's method table.
type Method struct {
	Name string `json:"method"`
	// Direction is the way the request or notification travels; a result travels
	// the other way.
	Direction Direction `json:"direction"`
	// Kind is Request or Notification.
	Kind Kind `json:"kind"`
	// Params is the schema of the params, nil when the provider gives none: then
	// anything, absence included, is accepted.
	Params json.RawMessage `json:"params,omitempty"`
	// ParamsOptional: the member may be left out.
	ParamsOptional bool `json:"params_optional,omitempty"`
	// Result is the schema of a request's result, nil when the provider's own
	// output does not tell which it is: then anything is accepted.
	Result json.RawMessage `json:"result,omitempty"`
	// Experimental methods are missing from the provider's stable schema.
	Experimental bool `json:"experimental,omitempty"`
	// Observed methods have no published schema; theirs was inferred from
	// recordings.
	Observed bool `json:"observed,omitempty"`
}

// compareMethods orders a method table: by name, then direction, then kind.
func compareMethods(a, b Method) int {
	return compareKeys(methodKey{a.Name, a.Direction, a.Kind}, methodKey{b.Name, b.Direction, b.Kind})
}
