package db

import (
	"database/sql/driver"
	"fmt"
	"time"
)

// Stamp is how a time is stored: nanoseconds since 1970 in UTC, NULL for the
// zero time. It holds times between the years 1678 and 2262.
type Stamp time.Time

// Value implements [driver.Valuer].
func (s Stamp) Value() (driver.Value, error) {
	if time.Time(s).IsZero() {
		return nil, nil
	}
	return time.Time(s).UnixNano(), nil
}

// Scan implements database/sql.Scanner.
func (s *Stamp) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*s = Stamp{}
	case int64:
		*s = Stamp(time.Unix(0, v).UTC())
	default:
		return fmt.Errorf("a time is stored as an integer, found %T", src)
	}
	return nil
}
