// The program does a little of everything a compiler makes special code for:
// goroutines, maps, panics, floats, large copies, closures and a sort.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sort"
	"strings"
)

func recovered(f func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("recovered: %v", p)
		}
	}()
	f()
	return nil
}

func main() {
	ch, sum := make(chan int), 0
	for i := range 20 {
		go func() { ch <- i * i }()
	}
	for range 20 {
		sum += <-ch
	}
	fmt.Println("squares", sum)

	words := map[string]int{}
	for i := range 2000 {
		words[fmt.Sprint(i%97)]++
	}
	var names []string
	for k, v := range words {
		names = append(names, fmt.Sprint(k, "=", v))
	}
	sort.Strings(names)
	fmt.Printf("%x\n", sha256.Sum256([]byte(strings.Join(names, ","))))

	var zero []int
	fmt.Println(recovered(func() { _ = zero[3] }), recovered(func() { panic(errors.New("mine")) }))

	big := make([]byte, 3<<20)
	for i := range big {
		big[i] = byte(i * i)
	}
	copy(big[1<<20:], big)
	fmt.Printf("%x %.6f\n", sha256.Sum256(big), math.Sin(1e5)*math.Sqrt(2))

	var v any
	err := json.Unmarshal([]byte(`{"a":[1,2,{"b":null}],"c":"ü"}`), &v)
	out, _ := json.Marshal(v)
	fmt.Println(string(out), err)
	fmt.Println("done")
}
