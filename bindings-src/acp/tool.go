package acp

import (
	"strconv"
	"strings"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/bindings-src/lists"
	"github.com/aoagents/ao-host/bindings-src/savedstate"
)

// ToolCall is a tool call as it is known so far, merged from all that was told of it.
// The raw members are JSON.
type ToolCall struct {
	ID, Name, Title, Kind, Status string
	Input, Output                 []byte
	Content, Locations            []byte
}

// tool is the saved form of a tool call.
type tool struct {
	id, name, title, kind, status     string
	input, output, content, locations string
	// paths are the files that anything told of it names, as far as there is room, between
	// [pathBreak]s; unnamed is how many of one list had no room. lost is what else was
	// told of it and is kept no more.
	paths         string
	unnamed, lost int64
	turn, child   string
	// session is the one of a child that has it, "" for ours.
	session string
	// declined: a person refused it.
	declined bool
	// cut: its turn was stopped before it ended.
	cut bool
	// own: it was begun in the turn that the agent runs by itself.
	own bool
}

// What is lost of a tool call.
const (
	lostInput int64 = 1 << iota
	lostContent
	lostLocations
)

func (t *tool) walk(w *savedstate.Walker) {
	w.Str("id", &t.id)
	w.Str("name", &t.name)
	w.Str("title", &t.title)
	w.Str("kind", &t.kind)
	w.Str("status", &t.status)
	w.Str("input", &t.input)
	w.Str("output", &t.output)
	w.Str("content", &t.content)
	w.Str("locations", &t.locations)
	w.Str("paths", &t.paths)
	w.Int("unnamed", &t.unnamed)
	w.Int("lost", &t.lost)
	w.Str("turn", &t.turn)
	w.Str("child", &t.child)
	w.Str("session", &t.session)
	w.Bool("declined", &t.declined)
	w.Bool("cut", &t.cut)
	w.Bool("own", &t.own)
}

func (t *tool) call() *ToolCall {
	return &ToolCall{ID: t.id, Name: t.name, Title: t.title, Kind: t.kind, Status: t.status,
		Input: []byte(t.input), Output: []byte(t.output), Content: []byte(t.content), Locations: []byte(t.locations)}
}

// foreign is the session of a child as it is kept, "" for ours.
func (r *Reducer) foreign(session string) string {
	if session == "" || session == r.session {
		return ""
	}
	return lists.ID(session)
}

// find looks a tool call up. Sessions keep their own ids; a model's call ids repeat.
func (r *Reducer) find(id, session string) *tool {
	if id == "" {
		return nil
	}
	id = lists.ID(id)
	for i := len(r.tools) - 1; i >= 0; i-- {
		if t := &r.tools[i]; t.id == id && t.session == session {
			return t
		}
	}
	return nil
}

// over reports whether a call is one of an earlier turn that goes on no more: the same
// id is another call then.
func (r *Reducer) over(t *tool) bool {
	return (finished(t.status) || t.cut) && (r.cur == nil || t.turn != r.cur.id)
}

// toolCall handles tool_call and tool_call_update: what is told replaces what was,
// what is left out stays.
func (r *Reducer) toolCall(u *update, out *guest.Effects) {
	if u.tool == "" {
		return
	}
	session := r.foreign(u.session)
	t := r.find(u.tool, session)
	if t != nil && u.kind == EnumSessionUpdateToolCall && r.over(t) {
		t = nil
	}
	var known *place
	if t != nil {
		known = &place{id: t.id, turn: t.turn, child: t.child, session: t.session}
	}
	at := r.scopeOf(u, known, out)
	if u.kind == EnumSessionUpdateToolCall {
		r.flush(out)
	}
	if t == nil {
		r.tools = keepLast(append(r.tools, tool{id: u.tool, turn: at.turn, child: at.child, session: session}), maxTools)
		t = &r.tools[len(r.tools)-1]
	}
	t.own = t.own || u.kind == EnumSessionUpdateToolCall && at.live != nil && at.live == r.own
	if r.merge(t, u) {
		x := t.item()
		out.Item(&x)
		r.replan(t, out)
		r.trim(t)
	}
	r.release(func(h *heldForm) bool { return h.tool == u.tool }, out)
}

// recall keeps what a restored history tells of a call that has not ended, and shows
// nothing: a review that is raised again can have its plan in there only.
func (r *Reducer) recall(u *update) {
	if u.tool == "" || u.session != r.session || u.kind != EnumSessionUpdateToolCall && u.kind != EnumSessionUpdateToolCallUpdate {
		return
	}
	t := r.find(u.tool, "")
	if t == nil {
		if finished(u.status) {
			return
		}
		r.tools = keepLast(append(r.tools, tool{id: u.tool}), maxTools)
		t = &r.tools[len(r.tools)-1]
	}
	r.merge(t, u)
	r.trim(t)
	if finished(t.status) {
		kept := r.tools[:0]
		for i := range r.tools {
			if &r.tools[i] != t {
				kept = append(kept, r.tools[i])
			}
		}
		r.tools = kept
	}
}

func finished(status string) bool {
	return status == EnumToolCallStatusCompleted || status == EnumToolCallStatusFailed
}

// merge takes over what an update tells and reports whether anything is new.
func (r *Reducer) merge(t *tool, u *update) bool {
	before := *t
	if r.d.Tool != nil && u.meta != nil {
		name, parent := r.d.Tool(u.meta)
		if name != "" {
			t.name = name
		}
		if parent != "" && t.child == "" {
			t.child = lists.ID(parent)
		}
	}
	if u.name != "" {
		t.name = u.name
	}
	if u.hasTitle {
		t.title = u.title
	}
	if u.tkind != "" {
		t.kind = u.tkind
	}
	if u.status != "" {
		t.status = u.status
	}
	set := func(to *string, raw []byte, empty string, lost int64) {
		// A request repeats the call with an empty input where an update told it (seen
		// on the adapter 0.101.0).
		if present(raw) && (string(raw) != empty || *to == "" && t.lost&lost == 0) {
			*to = string(raw)
			t.lost &^= lost
		}
	}
	set(&t.input, u.rawInput, "{}", lostInput)
	set(&t.output, u.rawOutput, "", 0)
	set(&t.content, u.content, "[]", lostContent)
	set(&t.locations, u.locations, "[]", lostLocations)
	t.nameFiles(u.content)
	t.nameFiles(u.locations)
	return *t != before
}

// pathBreak is in no file's name.
const pathBreak = "\x00"

// nameFiles adds the files of a tool call's content, which are those of its diffs, or of
// its locations. Neither list need name all the files of the other, nor of an earlier one.
func (t *tool) nameFiles(raw []byte) {
	if len(raw) == 0 {
		return
	}
	// What has no name needs none.
	known := map[string]bool{"": true}
	for _, name := range strings.Split(t.paths, pathBreak) {
		known[name] = true
	}
	unnamed := int64(0)
	var d jsonwire.Decoder
	d.Reset(raw)
	for ok := d.BeginArray(); ok && d.NextElem(); {
		EachKey(&d, func(k []byte, d *jsonwire.Decoder) {
			if string(k) != FieldPath || d.Kind() != jsonwire.String {
				d.Skip()
				return
			}
			name := string(d.Bytes())
			switch {
			case known[name]:
				return
			case len(t.paths)+len(name) > maxToolPaths:
				unnamed++
			default:
				if t.paths != "" {
					t.paths += pathBreak
				}
				t.paths += name
			}
			if len(known) < maxKnownPaths {
				known[name] = true
			}
		})
	}
	// Lists repeat one another: a sum would count some of them twice.
	t.unnamed = max(t.unnamed, unnamed)
}

// files names the files for a person, "" without any.
func (t *tool) files() string {
	names := strings.ReplaceAll(t.paths, pathBreak, ", ")
	switch n := strconv.FormatInt(t.unnamed, 10); {
	case t.unnamed == 0:
		return names
	case names == "":
		return "at least " + n + " with a long name"
	default:
		return names + " and at least " + n + " more"
	}
}

// trim drops what is too large to be kept for later updates.
func (r *Reducer) trim(t *tool) {
	t.lose(maxToolBytes)
	if finished(t.status) {
		// Nothing refers to what a finished call did.
		t.output, t.content = "", ""
	}
	// All calls together are gone through in the step of one short request.
	size := 0
	for i := len(r.tools) - 1; i >= 0; i-- {
		x := &r.tools[i]
		if size += len(x.input) + len(x.output) + len(x.content) + len(x.locations); size > maxToolsBytes && x != t {
			x.forget()
		}
	}
}

// forget drops the details of a call: later updates only need to find its place.
func (t *tool) forget() { t.lose(0) }

// lose drops what has more bytes than may be kept, and notes that it was there: a
// permission may be asked for it.
func (t *tool) lose(kept int) {
	drop := func(s *string, part int64) {
		if len(*s) > kept {
			*s = ""
			t.lost |= part
		}
	}
	drop(&t.input, lostInput)
	drop(&t.output, 0)
	drop(&t.content, lostContent)
	drop(&t.locations, lostLocations)
}

// untold is what a person is told who is asked about a call of which something is kept
// no more (C6, C8), with a space before it where it follows other text.
func (t *tool) untold(before string) string {
	if t.lost == 0 {
		return ""
	}
	s := "Not all of it can be shown here; the item \"" + t.itemID() + "\" has the rest."
	if files := t.files(); t.lost&(lostContent|lostLocations) != 0 && files != "" {
		s += " Its files: " + files + "."
	}
	if before != "" {
		s = " " + s
	}
	return s
}

// itemID is the id of the item that shows a call.
func (t *tool) itemID() string {
	if t.child != "" {
		return t.child + "/" + t.id
	}
	return t.id
}

// closeTools drops the details of the calls of a turn that is over; late updates only
// need to find their place. A stop cuts off those that run.
func (r *Reducer) closeTools(turn string, stopped bool) {
	for i := range r.tools {
		if t := &r.tools[i]; t.turn == turn {
			t.forget()
			t.cut = t.cut || stopped
		}
	}
}

// item shows a tool call.
func (t *tool) item() abi.Item {
	x := abi.Item{Turn: t.turn, ID: t.itemID(), Child: t.child, Type: abi.ItemTool, Title: t.title, Native: t.name, Status: abi.ItemRunning}
	if x.Native == "" {
		x.Native = t.kind
	}
	switch t.status {
	case EnumToolCallStatusCompleted:
		x.Status = abi.ItemCompleted
	case EnumToolCallStatusFailed:
		x.Status = abi.ItemFailed
		if t.declined {
			x.Status = abi.ItemDeclined
		}
	}
	switch t.kind {
	case EnumToolKindExecute:
		x.Type = abi.ItemCommand
		if c := command([]byte(t.input)); c != "" {
			x.Title = c
		}
	case EnumToolKindEdit, EnumToolKindDelete, EnumToolKindMove:
		x.Type = abi.ItemEdit
	case EnumToolKindSearch:
		x.Type = abi.ItemSearch
	}
	if x.Title == "" {
		x.Title = t.name
	}
	words, rich := contentText([]byte(t.content))
	x.Text = words
	content := []byte(nil)
	if rich {
		content = []byte(t.content)
	}
	x.Data = members(member{FieldRawInput, []byte(t.input)}, member{FieldRawOutput, []byte(t.output)}, member{FieldContent, content}, member{FieldLocations, []byte(t.locations)})
	return x
}

// command is the command line of a tool's input: a string, or a list of words.
func command(input []byte) string {
	var d jsonwire.Decoder
	s := ""
	d.Reset(input)
	EachKey(&d, func(k []byte, d *jsonwire.Decoder) {
		if string(k) != FieldCommand {
			d.Skip()
			return
		}
		if d.Kind() != jsonwire.Array {
			s = d.String()
			return
		}
		var b []byte
		for ok := d.BeginArray(); ok && d.NextElem(); {
			if len(b) > 0 {
				b = append(b, ' ')
			}
			b = appendWord(b, d.String())
		}
		s = string(b)
	})
	return s
}

// appendWord quotes what a shell would split or expand, so that nothing of a command
// is hidden (C8).
func appendWord(b []byte, word string) []byte {
	plain := word != ""
	for i := 0; i < len(word) && plain; i++ {
		c := word[i]
		plain = c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' ||
			c == '-' || c == '_' || c == '.' || c == '/' || c == ':' || c == '=' || c == '@' || c == '+' || c == ',' || c >= 0x80
	}
	if plain {
		return append(b, word...)
	}
	b = append(b, '\'')
	for i := 0; i < len(word); i++ {
		if word[i] == '\'' {
			b = append(b, `'\''`...)
		} else {
			b = append(b, word[i])
		}
	}
	return append(b, '\'')
}

// contentText joins the texts of a tool call's content; rich reports whether there is
// more than text: a diff, a terminal, an image.
func contentText(raw []byte) (words string, rich bool) {
	var b []byte
	var d jsonwire.Decoder
	d.Reset(raw)
	for ok := d.BeginArray(); ok && d.NextElem(); {
		kind, text := "", ""
		inner := ""
		EachKey(&d, func(k []byte, d *jsonwire.Decoder) {
			switch string(k) {
			case FieldType:
				kind = d.String()
			case FieldText:
				text = d.String()
			case FieldContent:
				EachKey(d, func(k []byte, d *jsonwire.Decoder) {
					switch string(k) {
					case FieldType:
						inner = d.String()
					case FieldText:
						text = d.String()
					default:
						d.Skip()
					}
				})
			default:
				d.Skip()
			}
		})
		// Unwrapped text blocks are taken like wrapped ones.
		if kind == EnumToolCallContentTypeContent && inner != EnumContentBlockTypeText ||
			kind != EnumToolCallContentTypeContent && kind != EnumContentBlockTypeText {
			rich = true
		}
		if text == "" {
			continue
		}
		if len(b) > 0 {
			b = append(b, '\n')
		}
		b = append(b, text...)
	}
	return string(b), rich
}

// member is one pair of an object; value is raw JSON.
type member struct {
	name  string
	value []byte
}

// members builds an object of the members that are present and not null; nil when
// there are none.
func members(pairs ...member) abi.Raw {
	var b []byte
	for _, m := range pairs {
		if !present(m.value) {
			continue
		}
		if b == nil {
			b = append(b, '{')
		}
		b = append(jsonwire.AppendKey(b, m.name), m.value...)
	}
	if b == nil {
		return nil
	}
	return append(b, '}')
}
