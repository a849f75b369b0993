package meter

// An edit is a place in a function body where the rewriter changes something.
// Edits are recorded in the order of their position.
//
// It is small because a hostile body can consist of them; all fields fit, as a
// body has less than 2^31 bytes and every index is below a limit.
type edit struct {
	at int32 // offset in the body
	// weight is the charge for editCharge, the number of bits the length is
	// shifted right for editBulk, the index for editIndex.
	weight int32
	kind   editKind
	size   uint8 // bytes of the original that are replaced
}

type editKind byte

const (
	editCharge editKind = iota // charge weight units
	editIndex                  // a function index that must be shifted
	editBulk                   // charge by the length on top of the stack
	editGrow                   // memory.grow: charge by pages, and watch the result
)

type frame struct {
	op   byte
	edit int // the charge of a loop, -1 for the others
	at   int
}

// codeUnits is the charge for running through n bytes of code once.
func codeUnits(n int) int32 { return int32(1 + n/CodeBytesPerUnit) }

// scanner goes through one function body after the other and keeps its buffers.
type scanner struct {
	m      *module
	edits  []edit
	frames []frame
	locals int // parameters and declared locals of the function at hand
	groups int // groups of declared locals
	code   int // offset of the first instruction
}

// scan checks the body of function f and finds its edits. Types are left to the
// engine, which validates the whole module again when it compiles it.
func (s *scanner) scan(f int, body section) *Error {
	m := s.m
	r := body.reader()
	s.edits, s.frames = s.edits[:0], append(s.frames[:0], frame{op: opBlock, edit: -1})

	declared := 0
	s.groups = r.count(m.limits.Locals, "groups of locals")
	for g := s.groups; g > 0 && r.err == nil; g-- {
		n := r.u32()
		if r.err == nil && int64(n)+int64(declared) > int64(m.limits.Locals) {
			r.fail(CodeLimit, "a function has more than %d locals; split it", m.limits.Locals)
			break
		}
		declared += int(n)
		readValType(r)
	}
	s.locals = len(m.types[m.funcTypes[f]].Params) + declared
	s.code = r.i

	// The entry is charged at once, unless only plain instructions stand
	// between it and the first loop, whose charge then is the entry's too.
	entry := codeUnits(len(body.body) - r.i)
	s.edits = append(s.edits, edit{at: int32(r.i), kind: editCharge, weight: entry})
	merge := true

	for r.err == nil && len(s.frames) > 0 {
		at := r.i
		op := r.byte()
		if r.err != nil {
			break
		}
		least := int32(0) // of a loop that is charged for the entry too
		if merge && !plain(op) {
			merge = false
			if op == opLoop {
				s.edits, least = s.edits[:0], entry
			}
		}
		switch op {
		case opBlock, opIf, opLoop:
			m.blockType(r)
			if len(s.frames) >= m.limits.Nesting {
				r.fail(CodeLimit, "blocks are nested more than %d deep; split the function", m.limits.Nesting)
			}
			fr := frame{op: op, edit: -1, at: r.i}
			if op == opLoop {
				fr.edit = len(s.edits)
				s.edits = append(s.edits, edit{at: int32(r.i), kind: editCharge, weight: least})
			}
			s.frames = append(s.frames, fr)
		case opElse:
			top := &s.frames[len(s.frames)-1]
			if top.op != opIf {
				r.fail(CodeInvalid, "else without an if")
			}
			top.op = opElse
		case opEnd:
			top := s.frames[len(s.frames)-1]
			if top.edit >= 0 {
				e := &s.edits[top.edit]
				e.weight = max(e.weight, codeUnits(at-top.at))
			}
			s.frames = s.frames[:len(s.frames)-1]
		case opCall, opRefFunc:
			i := r.i
			target := r.index(m.funcs(), "function")
			s.edits = append(s.edits, edit{at: int32(i), kind: editIndex, weight: int32(target), size: uint8(r.i - i)})
		case opMemoryGrow:
			m.needMemory(r)
			m.zero(r)
			s.edits = append(s.edits, edit{at: int32(at), kind: editGrow, size: uint8(r.i - at)})
		case opBulkPrefix:
			if shift := m.bulk(r); shift >= 0 {
				s.edits = append(s.edits, edit{at: int32(at), kind: editBulk, weight: int32(shift)})
			}
		default:
			m.immediates(r, op, s.locals, len(s.frames))
		}
	}
	if r.err == nil && r.i != len(r.b) {
		r.fail(CodeInvalid, "there is code after the end of the function")
	}
	return r.err
}

func (s *scanner) bulks() bool {
	for i := range s.edits {
		if k := s.edits[i].kind; k == editBulk || k == editGrow {
			return true
		}
	}
	return false
}
