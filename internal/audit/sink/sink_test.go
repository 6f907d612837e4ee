// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

func entry(id string) audit.Entry {
	return audit.Entry{
		ID: id, Time: time.Unix(1_800_000_000, 0), UserID: "alice", Principal: audit.Principal{Kind: audit.KindUserKey, ID: "k"}, ReportedBy: audit.Bridge,
		Call: audit.Call{Tool: "search", Method: methods.CallTool, Status: audit.Success},
	}
}

func open(t testing.TB, config Config) *Sink {
	t.Helper()
	s := must.Value(Open(config, nil))(t)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func write(t testing.TB, s *Sink, ids ...string) {
	t.Helper()
	for _, id := range ids {
		must.Succeed(t, s.Write(entry(id)))
	}
}

// read returns the ids in the trail at path, in order, after it was verified.
func read(t testing.TB, path string) (ids []string, v *audit.Verifier) {
	t.Helper()
	files := must.Value(Files(path))(t)
	v = &audit.Verifier{}
	for _, f := range files {
		b := must.Value(os.ReadFile(f))(t)
		if err := v.Read(bytes.NewReader(b)); err != nil || len(v.Findings) > 0 || v.Unfinished > 0 {
			t.Errorf("%s: %v %v unfinished %d", f, err, v.Findings, v.Unfinished)
		}
		for line := range bytes.Lines(b) {
			if r, err := audit.ParseLine(bytes.TrimSuffix(line, []byte("\n"))); err == nil && r.Torn == nil {
				ids = append(ids, r.Entry.ID)
			}
		}
	}
	return ids, v
}

func expect(t testing.TB, path string, want ...string) *audit.Verifier {
	t.Helper()
	ids, v := read(t, path)
	if strings.Join(ids, " ") != strings.Join(want, " ") {
		t.Errorf("the trail has %v, want %v", ids, want)
	}
	return v
}

func TestATrailGoesOnAfterARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	for i := range 3 {
		s := open(t, Config{Path: path, Sync: i == 1})
		write(t, s, fmt.Sprint(i))
		must.Succeed(t, s.Close())
		if err := s.Write(entry("late")); err == nil {
			t.Error("a closed sink was written to")
		}
	}
	if v := expect(t, path, "0", "1", "2"); len(v.Heads()) != 1 || len(v.Begins) != 0 {
		t.Errorf("chains %v, begins %v", v.Heads(), v.Begins)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestATornLineIsKeptAndMarked(t *testing.T) {
	for name, torn := range map[string]string{
		"the beginning of a line": `{"writer":"x","seq":2,"prev":"00`,
		"half of the line feed's": "{",
		"several":                 "{\"writer\":\nx\n\ny",
		"one that has its end":    "{\"writer\":\"x\"}\n",
		"a line feed":             "\n",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			s := open(t, Config{Path: path})
			write(t, s, "0")
			_ = s.Close()
			f := must.Value(os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0))(t)
			_, _ = f.WriteString(torn)
			_ = f.Close()
			s = open(t, Config{Path: path})
			write(t, s, "1", "2")
			if v := expect(t, path, "0", "1", "2"); v.Torn != 1 {
				t.Errorf("%d marks", v.Torn)
			}
			if b, _ := os.ReadFile(path); !bytes.Contains(b, []byte(torn)) {
				t.Error("what was there is gone")
			}
		})
	}
}

func TestALineWithoutItsLineFeedIsALine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	s := open(t, Config{Path: path})
	write(t, s, "0", "1")
	_ = s.Close()
	b := must.Value(os.ReadFile(path))(t)
	must.Succeed(t, os.Truncate(path, int64(len(b)-1)))
	write(t, open(t, Config{Path: path, MaxBytes: 1}), "2")
	if v := expect(t, path, "0", "1", "2"); v.Torn != 0 {
		t.Errorf("%d marks", v.Torn)
	}
}

func TestAFileThatIsNoTrailIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	must.Succeed(t, os.WriteFile(path, bytes.Repeat([]byte("data\n"), 1<<20), 0o600))
	if s, err := Open(Config{Path: path}, nil); err == nil {
		_ = s.Close()
		t.Error("it was taken for a trail")
	}
}

func TestOneProcessWritesToAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	open(t, Config{Path: path})
	if s, err := Open(Config{Path: path}, nil); err == nil {
		_ = s.Close()
		t.Error("a second one may, too")
	}
}

func TestFullFilesArePutAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	s := open(t, Config{Path: path, MaxBytes: 1500})
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprint(i))
		write(t, s, want[i])
	}
	files, err := Files(path)
	if err != nil || len(files) < 5 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		if info, _ := os.Stat(f); info.Size() > 1500 {
			t.Errorf("%s has %d bytes", f, info.Size())
		}
	}
	v := expect(t, path, want...)
	if len(v.Heads()) != 1 || v.Heads()[0].Seq != 20 {
		t.Errorf("chains %v", v.Heads())
	}
	// The chain goes on though the file was put aside by somebody else.
	_ = s.Close()
	must.Succeed(t, os.Rename(path, path+".99990101T000000.000000000Z"))
	s = open(t, Config{Path: path, MaxBytes: 1500, MaxFiles: 2})
	write(t, s, "20")
	expect(t, path, append(want, "20")...)
}

func TestOldFilesAreBegunAnewAndDropped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	s := open(t, Config{Path: path, MaxAge: time.Hour, MaxFiles: 2})
	now := time.Now()
	s.now = func() time.Time { return now }
	for i := range 6 {
		write(t, s, fmt.Sprint(i))
		if i%2 == 1 {
			now = now.Add(time.Hour)
		}
	}
	now = now.Add(time.Hour)
	write(t, s, "6")
	if v := expect(t, path, "2", "3", "4", "5", "6"); len(v.Begins) != 1 || v.Begins[0].Seq != 3 {
		t.Errorf("begins %v", v.Begins)
	}
}

func TestACutEndShows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	s := open(t, Config{Path: path})
	write(t, s, "0", "1", "2")
	_ = s.Close()
	b, _ := os.ReadFile(path)
	cut := bytes.SplitAfter(b, []byte("\n"))
	must.Succeed(t, os.WriteFile(path, bytes.Join(cut[:2], nil), 0o600))
	_, v := read(t, path)
	head, ok, err := EndOf(path)
	if err != nil || !ok || v.End(head) == nil {
		t.Errorf("%v %v %v: the cut is not seen", head, ok, err)
	}
	// Nor is it covered up by what is written afterwards.
	write(t, open(t, Config{Path: path}), "3")
	b, _ = os.ReadFile(path)
	if err := v.Read(bytes.NewReader(b)); err != nil || len(v.Findings) == 0 {
		t.Errorf("%v: nothing is missing any more", err)
	}
}

// shaky is a stream whose writes take some bytes and then fail.
type shaky struct {
	bytes.Buffer
	takes []int // of the next writes; -1 for all
}

func (s *shaky) Write(b []byte) (int, error) {
	n := len(b)
	if len(s.takes) > 0 {
		if s.takes[0] >= 0 {
			n = min(s.takes[0], n)
		}
		s.takes = s.takes[1:]
	}
	_, _ = s.Buffer.Write(b[:n])
	if n < len(b) {
		return n, errors.New("disk full")
	}
	return n, nil
}

func TestAWriteThatBreaksOffIsMarked(t *testing.T) {
	var line int
	{
		out := &bytes.Buffer{}
		s, _ := Open(Config{}, out)
		write(t, s, "e1")
		line = out.Len()
	}
	for name, takes := range map[string][]int{
		"nothing was written":                    {-1, 0},
		"a byte was":                             {-1, 1},
		"half a line":                            {-1, line / 2},
		"all but the line feed":                  {-1, line - 1},
		"several times nothing":                  {-1, 0, 0, 0},
		"several times something":                {-1, 10, 10, 10},
		"then only the line feed":                {-1, 10, 1},
		"then half of the mark":                  {-1, 10, 100},
		"then the mark, and half of the line":    {-1, 10, 300},
		"the first line of all":                  {100},
		"then a line feed, nothing, and a bit":   {-1, 10, 1, 0, 5},
		"then the mark but for its line feed":    {-1, 10, 1 + line - 100},
		"line feeds alone, one after the other":  {-1, 10, 1, 1, 1, 1},
		"one in the middle of others that go on": {-1, -1, 20, -1, 30, -1},
	} {
		t.Run(name, func(t *testing.T) {
			out := &shaky{takes: takes}
			var followed []string
			s, err := Open(Config{Follow: func(records []audit.Record) {
				for _, r := range records {
					followed = append(followed, r.Entry.ID)
				}
			}}, out)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for i := range len(takes) + 2 {
				if s.Write(entry(fmt.Sprint("e", i))) == nil {
					want = append(want, fmt.Sprint("e", i))
				}
			}
			v := &audit.Verifier{}
			if err := v.Read(bytes.NewReader(out.Bytes())); err != nil || len(v.Findings) > 0 || v.Unfinished > 0 {
				t.Errorf("%v %v, unfinished %d:\n%s", err, v.Findings, v.Unfinished, out.String())
			}
			for _, id := range want {
				if strings.Count(out.String(), `"id":"`+id+`"`) < 1 {
					t.Errorf("%s is not there", id)
				}
			}
			var there []string
			for line := range bytes.Lines(out.Bytes()) {
				if r, err := audit.ParseLine(bytes.TrimSuffix(line, []byte("\n"))); err == nil && r.Torn == nil {
					there = append(there, r.Entry.ID)
				}
			}
			if strings.Join(followed, " ") != strings.Join(there, " ") {
				t.Errorf("followed %v, want %v", followed, there)
			}
		})
	}
}

func TestWhatIsWrittenAtOnceIsWrittenOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	var last uint64
	s := open(t, Config{Path: path, MaxBytes: 20 << 10, Follow: func(records []audit.Record) {
		for _, r := range records {
			if r.Seq != last+1 {
				t.Errorf("number %d follows %d", r.Seq, last)
			}
			last = r.Seq
		}
	}})
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() {
			for j := range 20 {
				id := fmt.Sprintf("%d-%d", i, j)
				if err := s.Write(entry(id)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
	ids, _ := read(t, path)
	seen := map[string]bool{}
	for _, id := range ids {
		seen[id] = true
	}
	if len(ids) != 400 || len(seen) != 400 || last != 400 {
		t.Errorf("%d lines of %d entries, %d followed", len(ids), len(seen), last)
	}
}

// TestAKilledProcessLeavesWhatItWrote kills a writer again and again, and has
// what it said was written looked for.
func TestAKilledProcessLeavesWhatItWrote(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	if os.Getenv("SINK_TEST_PATH") != "" {
		writeForEver(os.Getenv("SINK_TEST_PATH"), os.Getenv("SINK_TEST_RUN"))
		return
	}
	var said []string
	for run := range 5 {
		said = append(said, killedWriter(t, path, fmt.Sprint(run))...)
	}
	write(t, open(t, Config{Path: path}), "last")
	ids, _ := read(t, path)
	there := map[string]int{}
	for _, id := range ids {
		there[id]++
	}
	for _, id := range append(said, "last") {
		if there[id] != 1 {
			t.Errorf("%s is there %d times", id, there[id])
		}
	}
	if len(said) < 500 {
		t.Errorf("only %d entries were written", len(said))
	}
}

// killedWriter runs a writer until it has written 100 entries, kills it and
// returns those of which it said so.
func killedWriter(t *testing.T, path, run string) []string {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^TestAKilledProcessLeavesWhatItWrote$")
	c.Env = append(os.Environ(), "SINK_TEST_PATH="+path, "SINK_TEST_RUN="+run)
	out := must.Value(c.StdoutPipe())(t)
	must.Succeed(t, c.Start())
	var said bytes.Buffer
	for bytes.Count(said.Bytes(), []byte("\n")) < 100 {
		if _, err := io.CopyN(&said, out, 64); err != nil {
			break
		}
	}
	_ = c.Process.Kill()
	_, _ = io.Copy(&said, out)
	_ = c.Wait()
	lines := strings.Split(said.String(), "\n")
	return lines[:len(lines)-1] // The last one may not be whole.
}

func writeForEver(path, run string) {
	s, err := Open(Config{Path: path, MaxBytes: 40 << 10}, nil)
	if err != nil {
		_, _ = fmt.Fprintln(os.Stdout, err)
		return
	}
	var wait sync.WaitGroup
	var mu sync.Mutex
	for i := range 4 {
		wait.Go(func() {
			for j := 0; ; j++ {
				id := fmt.Sprintf("%s-%d-%d", run, i, j)
				if s.Write(entry(id)) != nil {
					return
				}
				mu.Lock()
				_, _ = os.Stdout.WriteString(id + "\n")
				mu.Unlock()
			}
		})
	}
	wait.Wait()
}

func BenchmarkWrite(b *testing.B) {
	for name, config := range map[string]Config{"file": {}, "sync": {Sync: true}} {
		b.Run(name, func(b *testing.B) {
			config.Path = filepath.Join(b.TempDir(), "audit.jsonl")
			s := open(b, config)
			e := entry("x")
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					must.Succeed(b, s.Write(e))
				}
			})
		})
	}
}

// panics is an output that is broken.
type panics struct{ streamOutput }

func (panics) Write([]byte) (int, error) { panic("the output is broken") }

func TestAPanicFailsAllEntriesOfItsWrite(t *testing.T) {
	s := open(t, Config{Path: filepath.Join(t.TempDir(), "audit.jsonl")})
	file := s.out
	t.Cleanup(func() { _ = file.Close() })
	s.out = panics{}
	s.writing.Lock() // Until all of them are one batch.
	errs := make(chan error, 3)
	for i := range 3 {
		go func() {
			defer func() {
				if p := recover(); p != nil {
					errs <- fmt.Errorf("panic: %v", p)
				}
			}()
			errs <- s.Write(entry(fmt.Sprint(i)))
		}()
	}
	wait.Until(t, "three entries wait", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.waiting != nil && len(s.waiting.entries) == 3
	})
	s.writing.Unlock()
	for range 3 {
		if err := <-errs; err == nil {
			t.Error("an entry of a write that panicked is said to be written")
		}
	}
}
