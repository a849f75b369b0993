package scripted

import (
	"math/rand/v2"
	"sync"
)

// proseText is text as a model writes it, as far as a program that stores or compresses
// it can tell: words of a natural frequency, line ends and quotes now and then, and no
// long passage twice. It is the same in every run.
var proseText = sync.OnceValue(makeProse)

// proseAt is where the next piece begins: bursts that follow each other go on in the text.
var (
	proseMu sync.Mutex
	proseAt int
)

const (
	proseBytes = 4 << 20
	proseWords = 4000
)

func makeProse() string {
	r := rand.New(rand.NewPCG(1, 2))
	words := make([]string, proseWords)
	for i := range words {
		// Frequent words are short ones.
		b := make([]byte, 2+r.IntN(3)+i*6/proseWords)
		for j := range b {
			b[j] = "etaoinshrdlucmfwypvbgkqjxz"[min(r.IntN(26), r.IntN(26))]
		}
		words[i] = string(b)
	}
	zipf := rand.NewZipf(r, 1.1, 4, proseWords-1)
	text := make([]byte, 0, proseBytes+64)
	for n := 1; len(text) < proseBytes; n++ {
		text = append(text, words[zipf.Uint64()]...)
		switch {
		case n%61 == 0:
			text = append(text, ".\n\n"...)
		case n%43 == 0:
			text = append(text, " \"x\" "...)
		case n%13 == 0:
			text = append(text, ", "...)
		default:
			text = append(text, ' ')
		}
	}
	return string(text[:proseBytes])
}

// nextProse returns the next n bytes of the text; it begins anew where the text ends.
func nextProse(n int) string {
	text := proseText()
	n = min(n, len(text))
	proseMu.Lock()
	defer proseMu.Unlock()
	if n > len(text)-proseAt {
		proseAt = 0
	}
	proseAt += n
	return text[proseAt-n : proseAt]
}
