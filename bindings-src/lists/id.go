package lists

import "strconv"

// maxID is the longest id that is remembered as it came, in bytes. The host keeps no
// longer ones either.
const maxID = 1 << 10

// ID is what is remembered of an id that is only compared: a long one becomes its
// beginning and its digest. A state holds dozens of ids, and an agent may make each a
// megabyte long. ID of what ID returned is the same.
func ID(id string) string {
	if len(id) <= maxID {
		return id
	}
	// FNV-1a and its older order. Who makes two ids collide confuses his own.
	const prime = 1099511628211
	a, b := uint64(14695981039346656037), uint64(14695981039346656037)
	for i := 0; i < len(id); i++ {
		a = (a ^ uint64(id[i])) * prime
		b = b*prime ^ uint64(id[i])
	}
	// Cut where a character begins.
	n := 64
	for n > 0 && id[n]&0xc0 == 0x80 {
		n--
	}
	return id[:n] + "…" + strconv.FormatUint(a, 16) + "-" + strconv.FormatUint(b, 16) + "-" + strconv.Itoa(len(id))
}
