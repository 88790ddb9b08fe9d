package audit_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"assent/internal/audit"
	"assent/internal/auth"
	"assent/internal/auth/authtest"
	"assent/internal/hook"
)

var benchRecords = flag.Int("audit-records", 30_000, "how many records BenchmarkVerify verifies")

// BenchmarkVerify verifies an export in a file: every third record is a decision that a device signed, and each request has an
// input of half a kilobyte. It prints records a second, what they would be if nothing else had a processor of this machine, the
// time as a multiple of what it takes to digest and parse the same lines, how much memory was in use at most, and how much of that an export of a fifth of the size takes.
func BenchmarkVerify(b *testing.B) {
	small, opts, _ := exportFile(b, *benchRecords/5)
	less := verifyFile(b, small, opts, *benchRecords/5)
	path, opts, size := exportFile(b, *benchRecords)
	var most uint64
	before := busy(b)
	for b.Loop() {
		most = max(most, verifyFile(b, path, opts, *benchRecords))
	}
	work := (busy(b) - before) / time.Duration(b.N)
	took := b.Elapsed() / time.Duration(b.N)
	begun := time.Now()
	bare(b, path)
	b.ReportMetric(float64(*benchRecords)/took.Seconds(), "records/s")
	b.ReportMetric(took.Seconds()/time.Since(begun).Seconds(), "times-bare")
	b.ReportMetric(float64(*benchRecords)*float64(runtime.GOMAXPROCS(0))/work.Seconds(), "records/s-alone")
	b.ReportMetric(float64(most)/(1<<20), "MiB")
	b.ReportMetric(float64(less)/(1<<20), "MiB-fifth")
	b.ReportMetric(float64(size)/float64(*benchRecords), "B/record")
}

// exportFile writes the export of n records to a file. Neither they nor the export are in memory as a whole at any time, so that
// what is measured later does not depend on what making them left behind, and n is bounded by the disk alone.
func exportFile(b *testing.B, n int) (path string, opts audit.VerifyOptions, size int64) {
	b.Helper()
	s := newFileShelf(b)
	signer := authtest.NewKey()
	jwk := signer.JWK()
	at := time.Date(2026, 11, 28, 5, 0, 0, 0, time.UTC)
	input, err := json.Marshal(map[string]string{"command": strings.Repeat("make all the tests; ", 25), "description": "Test"})
	if err != nil {
		b.Fatal(err)
	}
	for i := range n / 3 {
		id := fmt.Sprintf("0198c0de-0000-7000-8000-%012d", i)
		d := hook.Decision{Behavior: hook.BehaviorAllow, InputSHA256: fmt.Sprintf("%064d", i), SignedAt: "2026-11-28T05:00:00Z", PublicKey: &jwk}
		d.Signature = signer.Sign(auth.DecisionText(id, d))
		s.add(b, &hook.Record{ID: "a", RequestID: id, Step: hook.StepAsked, Time: at, Request: &hook.Request{ID: id, ToolName: "Bash", ToolInput: hook.JSON(input), InputSHA256: d.InputSHA256}})
		s.add(b, &hook.Record{ID: "d", RequestID: id, Step: hook.StepDecided, Time: at, Outcome: hook.Allowed, Decision: &d, By: &hook.Approver{Kind: "device", ID: "d-1", Name: "phone"}})
		s.add(b, &hook.Record{ID: "e", RequestID: id, Step: hook.StepDelivered, Time: at})
	}
	path = filepath.Join(b.TempDir(), "export.jsonl")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	_, opts = exportTo(b, newKey(b), s, func() io.Writer {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			b.Fatal(err)
		}
		if err := f.Truncate(0); err != nil {
			b.Fatal(err)
		}
		return f
	})
	if size, err = f.Seek(0, io.SeekEnd); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return path, opts, size
}

// verifyFile verifies an export, and returns how many bytes of heap were in use at most beyond those before.
func verifyFile(b *testing.B, path string, opts audit.VerifyOptions, n int) (most uint64) {
	b.Helper()
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	looked := 0
	r := readFunc(func([]byte) (int, error) {
		if looked++; looked%64 == 0 {
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapInuse-min(now.HeapInuse, before.HeapInuse))
		}
		return 0, nil
	})
	rep, err := audit.VerifyLines(io.TeeReader(f, r), opts)
	if err != nil || !rep.OK() || rep.Signed != int64(n/3) {
		b.Fatalf("got %+v, %v", rep, err)
	}
	return most
}

// busy is the processor time that this process has used, of all processors.
func busy(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// bare digests the lines and reads each as JSON.
func bare(b *testing.B, path string) {
	b.Helper()
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	sum := sha256.New()
	lines := bufio.NewScanner(io.TeeReader(f, sum))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var line struct {
			N     int64
			Leaf  string
			Entry []byte
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			b.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		b.Fatal(err)
	}
}

type readFunc func(p []byte) (int, error)

func (f readFunc) Write(p []byte) (int, error) { _, err := f(p); return len(p), err }
