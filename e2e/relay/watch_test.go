package relay

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// tap leads connections to the relay and keeps what passes, both ways: all that goes over the relay's sockets.
type tap struct {
	mu   sync.Mutex
	kept bytes.Buffer // guarded by mu
}

// tapped starts one at an address.
func tapped(t *testing.T, at, to string) *tap {
	t.Helper()
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	p := &tap{}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.pass(c, to)
		}
	}()
	return p
}

func (p *tap) pass(c net.Conn, to string) {
	defer func() { _ = c.Close() }()
	up, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer func() { _ = up.Close() }()
	go func() {
		_, _ = io.Copy(io.MultiWriter(up, p), c)
		_ = up.Close()
	}()
	_, _ = io.Copy(io.MultiWriter(c, p), up)
}

// Write keeps b.
func (p *tap) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kept.Write(b)
}

// saw reports whether a text passed in the clear, and how many bytes passed.
func (p *tap) saw(text string) (bool, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return bytes.Contains(p.kept.Bytes(), []byte(text)), p.kept.Len()
}

// inMemory says how often each text stands in the memory of a process, and how many bytes were looked at.
func inMemory(t *testing.T, pid int, texts ...string) (found map[string]int, size int64) {
	t.Helper()
	maps, err := os.Open(filepath.Join("/proc", strconv.Itoa(pid), "maps"))
	if err != nil {
		t.Skip("this system shows no process's memory: ", err)
	}
	defer func() { _ = maps.Close() }()
	mem, err := os.Open(filepath.Join("/proc", strconv.Itoa(pid), "mem"))
	if err != nil {
		t.Skip("this system shows no process's memory: ", err)
	}
	defer func() { _ = mem.Close() }()
	found = map[string]int{}
	for s := bufio.NewScanner(maps); s.Scan(); {
		var from, to uint64
		var mode string
		if _, err := fmt.Sscanf(strings.Replace(s.Text(), "-", " ", 1), "%x %x %s", &from, &to, &mode); err != nil || mode[0] != 'r' || strings.Contains(s.Text(), "[v") {
			continue
		}
		const part, lap = 4 << 20, 256
		b := make([]byte, part+lap)
		for at := from; at < to; at += part {
			n, _ := mem.ReadAt(b[:min(uint64(len(b)), to-at)], int64(at)) // what is gone by now holds nothing
			size += int64(min(n, part))
			for _, text := range texts {
				found[text] += bytes.Count(b[:n], []byte(text))
			}
		}
	}
	return found, size
}

// files is how many descriptors a process has open.
func files(t *testing.T, pid int) int {
	t.Helper()
	list, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "fd"))
	if err != nil {
		t.Skip("this system shows no process's files: ", err)
	}
	return len(list)
}

// resident is the memory that a process has, in bytes.
func resident(t *testing.T, pid int) int64 {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		t.Skip("this system shows no process's memory: ", err)
	}
	_, rest, _ := strings.Cut(string(b), "VmRSS:")
	kb, err := strconv.ParseInt(strings.Fields(rest + " 0")[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}
