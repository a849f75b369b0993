package client

import "bufio"

// ReadAll reads the blocks of a stream until its end.
func ReadAll(in *bufio.Reader, limit int, each func(id, event string, data []byte)) {
	r := &reader{r: in, max: limit, alive: func() {}}
	for {
		m, err := r.next()
		if err != nil {
			return
		}
		each(m.id, m.event, m.data)
	}
}
