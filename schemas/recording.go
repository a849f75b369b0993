package schemas

import (
	"bufio"
	"encoding/json"
	"io/fs"
	"path"
	"slices"
)

// Recorded is one payload of recorded traffic.
type Recorded struct {
	// File and Line say where it is.
	File string
	Line int
	// Direction and Kind are those of this frame; the Method of a Result or
	// ErrorObject is that of the request it answers.
	Direction Direction
	Kind      Kind
	Method    string
	// Body is the params, result or error, empty when the frame has none.
	Body json.RawMessage
}

// maxRecordedLine bounds a line of a recording.
const maxRecordedLine = 16 << 20

// ReadRecordings reads every recording (*.ndjson) of a folder, in the order of
// their names. A line is {"dir":"in"|"out"|"mark","frame":{…}}, where "in" is
// what the provider was sent and "out" what it sent; other lines are passed over.
// Errors have the code [CodeRecordingInvalid].
func ReadRecordings(folder fs.FS) ([]Recorded, error) {
	names, err := fs.Glob(folder, "*.ndjson")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var all []Recorded
	for _, name := range names {
		list, err := readRecording(folder, name)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

func readRecording(folder fs.FS, name string) ([]Recorded, error) {
	f, err := folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	type call struct {
		dir Direction
		id  string
	}
	asked := map[call]string{}
	var list []Recorded
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, maxRecordedLine)
	for line := 1; sc.Scan(); line++ {
		if len(sc.Bytes()) == 0 {
			continue
		}
		var rec struct {
			Dir   string
			Frame struct {
				ID                    json.RawMessage
				Method                string
				Params, Result, Error json.RawMessage
			}
		}
		if err := json.Unmarshal(sc.Bytes(), &rec); err != nil {
			return nil, failf(CodeRecordingInvalid, err, "line %d of %s is not a recorded frame; record it again", line, path.Base(name))
		}
		r := Recorded{File: name, Line: line, Method: rec.Frame.Method, Body: rec.Frame.Params}
		switch rec.Dir {
		case "in":
			r.Direction = ToProvider
		case "out":
			r.Direction = FromProvider
		default:
			continue
		}
		id := string(rec.Frame.ID)
		if r.Method == "" {
			r.Method = asked[call{r.Direction.reverse(), id}]
		}
		switch {
		case rec.Frame.Method != "" && id != "":
			r.Kind = Request
			asked[call{r.Direction, id}] = r.Method
		case rec.Frame.Method != "":
			r.Kind = Notification
		case rec.Frame.Result != nil:
			r.Kind, r.Body = Result, rec.Frame.Result
		case rec.Frame.Error != nil:
			r.Kind, r.Body = ErrorObject, rec.Frame.Error
		default:
			// Text that was no JSON is kept in recordings as "raw".
			continue
		}
		if r.Method == "" {
			return nil, failf(CodeRecordingInvalid, nil, "line %d of %s answers no request; record the run from its beginning", line, path.Base(name))
		}
		list = append(list, r)
	}
	if err := sc.Err(); err != nil {
		return nil, failf(CodeRecordingInvalid, err, "%s cannot be read to its end; record it again", path.Base(name))
	}
	return list, nil
}
