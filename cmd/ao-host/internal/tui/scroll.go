package tui

// transcript is the window on the story: it follows the end until the person
// scrolls up, and then stays where it is whatever is added below.
type transcript struct {
	story *story
	width int
	rows  int
	dir   string
	// away: the person scrolled up; block and line are then the first line shown.
	away        bool
	block, line int
	// selected is the block that keys act on while the transcript has the focus,
	// -1 for none.
	selected int
}

// row is one line of the story's layout.
type row struct {
	block int
	text  string
}

// height is the number of rows that a block takes, the empty line after it
// included.
func (t *transcript) height(i int) int { return len(t.lines(i)) + t.gap(i) }

// gap is 1 where an empty line follows a block: tool calls and notices that
// follow one another stand close together.
func (t *transcript) gap(i int) int {
	if i+1 >= len(t.story.blocks) {
		return 0
	}
	tight := func(k blockKind) bool { return k == blockTool || k == blockReasoning || k == blockNotice }
	a, b := t.story.blocks[i], t.story.blocks[i+1]
	if tight(a.kind) && a.kind == b.kind && !a.open && !b.open || a.kind == blockTool && b.kind == blockTool && !a.open {
		return 0
	}
	return 1
}

func (t *transcript) lines(i int) []string {
	// One column is kept free for the mark of the selected block.
	return t.story.blocks[i].layOut(max(t.width-1, 1), t.dir)
}

// bottom is the first line shown when the end of the story is.
func (t *transcript) bottom() (block, line int) {
	room := t.rows
	for i := len(t.story.blocks) - 1; i >= 0; i-- {
		h := t.height(i)
		if h >= room {
			return i, h - room
		}
		room -= h
	}
	return 0, 0
}

// scroll moves by n lines, down when positive.
func (t *transcript) scroll(n int) {
	if !t.away {
		t.block, t.line = t.bottom()
	}
	t.away = true
	t.line += n
	for t.line < 0 {
		if t.block == 0 {
			t.line = 0
			break
		}
		t.block--
		t.line += t.height(t.block)
	}
	t.settle()
}

// settle brings the first line into the story again, after a scroll or after
// the layout changed, and follows the end where it is reached.
func (t *transcript) settle() {
	if !t.away {
		return
	}
	for t.block < len(t.story.blocks) && t.line >= t.height(t.block) {
		if t.block == len(t.story.blocks)-1 {
			t.line = max(t.height(t.block)-1, 0)
			break
		}
		t.line -= t.height(t.block)
		t.block++
	}
	if b, l := t.bottom(); t.block > b || t.block == b && t.line >= l {
		t.away = false
	}
}

// end follows the end of the story again.
func (t *transcript) end() { t.away = false }

// home goes to the beginning.
func (t *transcript) home() {
	t.away, t.block, t.line = true, 0, 0
	t.settle()
}

// view gives the rows of the window, fewer where the story is shorter.
func (t *transcript) view() []row {
	t.settle()
	block, line := t.block, t.line
	if !t.away {
		block, line = t.bottom()
	}
	var out []row
	for i := block; i < len(t.story.blocks) && len(out) < t.rows; i++ {
		lines := t.lines(i)
		for n := 0; n < t.height(i) && len(out) < t.rows; n++ {
			if i == block && n < line {
				continue
			}
			text := ""
			if n < len(lines) {
				text = lines[n]
			}
			out = append(out, row{i, text})
		}
	}
	return out
}

// choose moves the selection to the next block with details in a direction and
// scrolls so that it can be seen.
func (t *transcript) choose(step int) {
	i := t.selected
	if i < 0 {
		i = len(t.story.blocks)
	}
	for i += step; i >= 0 && i < len(t.story.blocks); i += step {
		if b := t.story.blocks[i]; b.opens() || b.kind == blockUser {
			t.selected = i
			t.reveal(i)
			return
		}
	}
}

// reveal scrolls until the first line of a block is in the window.
func (t *transcript) reveal(i int) {
	for _, r := range t.view() {
		if r.block == i {
			if first, line := t.first(); first != i || line == 0 {
				return
			}
		}
	}
	t.away, t.block, t.line = true, i, 0
	t.settle()
}

// first is the first line shown.
func (t *transcript) first() (block, line int) {
	if t.away {
		return t.block, t.line
	}
	return t.bottom()
}

// toggle opens or closes the selected block.
func (t *transcript) toggle() {
	if t.selected < 0 || t.selected >= len(t.story.blocks) {
		return
	}
	b := t.story.blocks[t.selected]
	if !b.opens() {
		return
	}
	b.open = !b.open
	t.reveal(t.selected)
}
