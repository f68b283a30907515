package cpu

import (
	"testing"

	"agentmill/internal/device"
	"agentmill/internal/device/devicetest"
)

func open(t testing.TB, threads int, path string) *Backend {
	b, err := New(threads, path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBackend(t *testing.T) {
	for _, path := range Paths() {
		t.Run(path, func(t *testing.T) {
			devicetest.Run(t, func(t testing.TB) device.Backend { return open(t, 3, path) })
		})
	}
}

func TestThreads(t *testing.T) {
	for _, path := range Paths() {
		t.Run(path, func(t *testing.T) {
			devicetest.Threads(t, []int{1, 2, 3, 8}, func(t testing.TB, n int) device.Backend { return open(t, n, path) })
		})
	}
}

func TestUnknownPath(t *testing.T) {
	if _, err := New(1, "abacus"); err == nil {
		t.Error("a path that does not exist was accepted")
	}
}

func TestCloseTwice(t *testing.T) {
	b := open(t, 2, "")
	for range 2 {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}
