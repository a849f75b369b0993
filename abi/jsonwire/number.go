package jsonwire

// Int returns the next value if it is a number with a whole value within int64,
// however it is written: 3, 3.0 and 0.3e1 are all 3. Any other value is skipped
// and 0 returned.
func (d *Decoder) Int() int64 {
	if d.Kind() != Number {
		d.Skip()
		return 0
	}
	// Times and counters are plain digits, and few enough not to overflow.
	b, i, n := d.b, d.i, int64(0)
	for i < len(b) && b[i]-'0' <= 9 {
		n = n*10 + int64(b[i]-'0')
		i++
	}
	if size := i - d.i; size > 0 && size <= 18 && (b[d.i] != '0' || size == 1) && (i == len(b) || b[i] != '.' && b[i]|0x20 != 'e') {
		d.i = i
		return n
	}
	end := number(d.b, d.i)
	if end < 0 {
		d.fail(ErrSyntax)
		return 0
	}
	n = whole(d.b[d.i:end])
	d.i = end
	return n
}

// number returns the index after the number at i, or -1 if there is none.
func number(b []byte, i int) int {
	if i < len(b) && b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if i = digits(b, i); i < 0 {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		if i = digits(b, i+1); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return digits(b, i)
	}
	return i
}

// digits returns the index after the digits at i, or -1 if there are none.
func digits(b []byte, i int) int {
	st := i
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	if i == st {
		return -1
	}
	return i
}

// whole is the value of a valid number, 0 when it has a fraction or does not fit.
// It uses no floats: they would round, and they are banned from guests.
func whole(b []byte) int64 {
	neg := b[0] == '-'
	if neg {
		b = b[1:]
	}
	// Split into the digits and the power of ten they are multiplied with.
	exp, mant := 0, b
	for i, c := range b {
		if c|0x20 == 'e' {
			mant = b[:i]
			exp = exponent(b[i+1:])
			break
		}
	}
	for i, c := range mant {
		if c == '.' {
			exp -= len(mant) - i - 1
			break
		}
	}
	// Zeros at the end carry no value; they cancel negative powers.
	for len(mant) > 0 && (mant[len(mant)-1] == '0' || mant[len(mant)-1] == '.') && exp < 0 {
		if mant[len(mant)-1] == '0' {
			exp++
		}
		mant = mant[:len(mant)-1]
	}
	var n uint64
	ok := true
	for _, c := range mant {
		if c != '.' {
			n, ok = timesTen(n, uint64(c-'0'), ok)
		}
	}
	if n == 0 || !ok || exp < 0 {
		return 0
	}
	for ; exp > 0 && ok; exp-- {
		n, ok = timesTen(n, 0, ok)
	}
	switch {
	case !ok:
		return 0
	case neg && n <= 1<<63:
		return -int64(n)
	case !neg && n < 1<<63:
		return int64(n)
	}
	return 0
}

// timesTen is n*10 + digit, and whether it and all before stayed within 64 bits.
func timesTen(n, digit uint64, ok bool) (uint64, bool) {
	if n > (1<<64-1-9)/10 {
		return n, false
	}
	return n*10 + digit, ok
}

// exponent reads the digits of an exponent. Beyond any length a number can have
// within a text its exact value no longer matters.
func exponent(b []byte) int {
	neg := b[0] == '-'
	if neg || b[0] == '+' {
		b = b[1:]
	}
	n := 0
	for _, c := range b {
		if n < 1<<27 {
			n = n*10 + int(c-'0')
		}
	}
	if neg {
		return -n
	}
	return n
}
