package executor

import (
	"bytes"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"assent/internal/host/process"
)

const (
	maxEnviron = 4 << 20 // bytes of a process's environment that are looked at
	sweeps     = 50      // rounds of a sweep
	// quickSweeps are the rounds that are waited for with the lock.
	quickSweeps = 5
	sweepTime   = 5 * time.Second // after which no other round begins
	sweepPause  = 20 * time.Millisecond
)

// sweep kills the process of a session, all below it, all in its scope, and all that carry the session's mark, until
// there is nothing left; it reports whether that is so. Where the session has no scope, what a tool started
// with an environment of its own, and left to itself before, is not found.
func sweep(root began, session string) bool {
	killOnce(root, session)
	return killAll(root, sweeps, func() []int {
		below, elsewhere := tree(root, session)
		return append(below, elsewhere...)
	})
}

// killSoon is the beginning of a sweep: a few rounds, which are enough unless what is killed makes others as quickly.
func killSoon(root began, session string) {
	killOnce(root, session)
	killAll(root, quickSweeps, func() []int {
		below, elsewhere := tree(root, session)
		return append(below, elsewhere...)
	})
}

// killOnce is one round of a sweep, which does not wait.
func killOnce(root began, session string) {
	below, elsewhere := tree(root, session)
	found := append(below, elsewhere...)
	for _, pid := range found {
		if scope := scopeOf(pid, session); scope != "" {
			killScope(scope)
			break
		}
	}
	kill(root, found)
}

// kill kills processes, and the root last: its children stay its children until then.
func kill(root began, found []int) {
	for _, pid := range found {
		if pid != root.PID {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	if slices.Contains(found, root.PID) {
		_ = syscall.Kill(root.PID, syscall.SIGKILL)
	}
}

// sweepStrays kills what is in the session's scope or carries its mark, and has left the tree of its process, which goes on: what
// tools started and left to themselves.
func sweepStrays(root began, session string) bool {
	return killAll(began{}, sweeps, func() []int {
		_, elsewhere := tree(root, session)
		return elsewhere
	})
}

// pause is time.Sleep, but in a test that looks what may be done meanwhile.
var pause = time.Sleep

// killAll kills what find finds until that is nothing, in so many rounds at most.
func killAll(root began, rounds int, find func() []int) bool {
	start := time.Now()
	for i := 0; i < rounds && (i == 0 || time.Since(start) < sweepTime); i++ {
		found := find()
		if len(found) == 0 {
			return true
		}
		kill(root, found)
		pause(sweepPause) // the kernel takes a moment
	}
	return len(find()) == 0
}

// tree is what belongs to a session but for ourselves: its process, if it runs, with all below it; and what
// is in its scope or carries the mark elsewhere, with all below that.
func tree(root began, session string) (below, elsewhere []int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, nil
	}
	parents := map[int]int{}
	var carry []int
	want := []byte(mark + "=" + session)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() {
			continue
		}
		id := process.ID(pid)
		if id == "" || process.Look(pid, id) != process.Runs { // a zombie is nothing any more
			continue
		}
		parents[pid] = process.Parent(pid)
		if marked(pid, want) || scopeOf(pid, session) != "" {
			carry = append(carry, pid)
		}
	}
	if process.Look(root.PID, root.ID) == process.Runs {
		below = descend([]int{root.PID}, parents)
	}
	known := map[int]bool{}
	for _, pid := range below {
		known[pid] = true
	}
	for _, pid := range descend(carry, parents) {
		if !known[pid] {
			elsewhere = append(elsewhere, pid)
		}
	}
	return below, elsewhere
}

// descend adds to some processes all below them. There may be as many as the machine can have.
func descend(found []int, parents map[int]int) []int {
	children := map[int][]int{}
	for pid, parent := range parents {
		children[parent] = append(children[parent], pid)
	}
	seen := map[int]bool{}
	for _, pid := range found {
		seen[pid] = true
	}
	for i := 0; i < len(found); i++ {
		for _, pid := range children[found[i]] {
			if !seen[pid] {
				seen[pid] = true
				found = append(found, pid)
			}
		}
	}
	return found
}

// marked says whether a process of this user has the mark in the environment that it was started with.
func marked(pid int, want []byte) bool {
	for kv := range bytes.SplitSeq(environ(pid), []byte{0}) {
		if bytes.Equal(kv, want) {
			return true
		}
	}
	return false
}

// Started says whether a host of this user started a process for a session, or what started it was.
func Started(pid int, session string) bool { return marked(pid, []byte(mark+"="+session)) }

// environ is the environment that a process of this user was started with, each variable with a zero byte behind it.
func environ(pid int) []byte {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return nil
	}
	defer f.Close()
	env, err := io.ReadAll(io.LimitReader(f, maxEnviron))
	if err != nil {
		return nil
	}
	return env
}

// sessionsAt are the sessions for which something works that a host with this directory started.
func sessionsAt(dir string) []string {
	found := map[string]bool{}
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return nil
	}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() {
			continue
		}
		session, here := "", false
		for kv := range bytes.SplitSeq(environ(pid), []byte{0}) {
			key, value, _ := strings.Cut(string(kv), "=")
			switch key {
			case mark:
				session = value
			case placeMark:
				here = value == dir
			}
		}
		if here && isUUID(session) {
			found[session] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}
