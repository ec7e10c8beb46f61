//# about: Go: its own DWARF producer, no inlined columns, package paths as names, closures, interfaces; debug info alone, compressed
//# variant: amd64.debug: cp golang.go $T/main.go && cd $T && GOFLAGS= GO111MODULE=off CGO_ENABLED=0 GOCACHE=$T/cache GOPATH=$T/path $GO build -trimpath -gcflags=all=-dwarflocationlists=false -ldflags=-buildid= -o a main.go && $OBJCOPY --only-keep-debug --decompress-debug-sections --remove-section=.debug_gdb_scripts --remove-section=.debug_frame a b && $LLVM_OBJCOPY --compress-debug-sections=zstd b $OUT
package main

type shape interface{ area() int }
type square struct{ side int }
type rect struct{ w, h int }

func (s square) area() int { return s.side * s.side }
func (r *rect) area() int   { return r.w * r.h }

func add(a, b int) int { return a + b }

//go:noinline
func total(shapes []shape) (sum int) {
	each := func(s shape) { sum = add(sum, s.area()) }
	for _, s := range shapes {
		each(s)
	}
	return
}

func main() {
	println(total([]shape{square{3}, &rect{2, 5}}))
}
