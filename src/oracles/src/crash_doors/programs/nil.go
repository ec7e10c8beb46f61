//# build: go
//# stack: main.read main.weigh main.post main.main
//# perf: fp first
//# gdb: runtime.sigtramp
// A nil dereference in Go, with a goroutine beside it; one function is inlined.
package main

import "os"

type mail struct{ weight *int }

var read_count int

func read(m *mail) int { return *m.weight }

//go:noinline
func count() { read_count++ }

//go:noinline
func weigh(m *mail) int {
	count()
	return read(m) + 1
}

//go:noinline
func post(m *mail) int { return weigh(m) * 2 }

func main() {
	done := make(chan int)
	go func() { <-done }()
	os.Exit(post(&mail{}))
}
