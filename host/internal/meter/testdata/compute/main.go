// The program does a little of everything a compiler makes special code for:
// goroutines, maps, panics, floats, large copies, closures and a sort. It prints
// with println only, as package fmt would double its size.
package main

import (
	"hash/crc32"
	"math"
	"slices"
	"strconv"
	"strings"
)

func recovered(f func()) (message string) {
	defer func() {
		switch p := recover().(type) {
		case error:
			message = "recovered: " + p.Error()
		case string:
			message = "recovered: " + p
		}
	}()
	f()
	return "no panic"
}

func main() {
	ch, sum := make(chan int), 0
	for i := range 20 {
		go func() { ch <- i * i }()
	}
	for range 20 {
		sum += <-ch
	}
	println("squares", sum)

	words := map[string]int{}
	for i := range 2000 {
		words[strconv.Itoa(i%97)]++
	}
	var names []string
	for k, v := range words {
		names = append(names, k+"="+strconv.Itoa(v))
	}
	slices.Sort(names)
	println(crc32.ChecksumIEEE([]byte(strings.Join(names, ","))))

	var zero []int
	println(recovered(func() { _ = zero[3] }), recovered(func() { panic("mine") }))

	big := make([]byte, 3<<20)
	for i := range big {
		big[i] = byte(i * i)
	}
	copy(big[1<<20:], big)
	println(crc32.ChecksumIEEE(big), strconv.FormatFloat(math.Sin(1e5)*math.Sqrt(2), 'g', -1, 64))
	println("done")
}
