// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench && linux

package login

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// step is a part of a login that is measured by itself.
type step int

// The steps. Between authorize and callback the person is at the provider, which
// is in the whole alone.
const (
	authorize step = iota
	callback
	consent
	token
	refresh
	steps
)

// took is how long the steps of a login took.
type took [steps]time.Duration

// doer logs somebody in.
type doer interface {
	login(ctx context.Context, person int) (took, error)
}

const (
	// atOnce is how many logins may be under way. That there are more shows that
	// nobody keeps up.
	atOnce = 1000
	// patience is how long a login may take.
	patience = 20 * time.Second
	// slow is what the slowest hundredth of logins may take of who keeps up.
	slow = time.Second
)

var errTooMany = errors.New("too many logins are under way")

// results are what a rate came to.
type results struct {
	perMinute, asked, done, failed int
	firstError                     error
	elapsed                        time.Duration
	// whole are from the moment at which a login was due, whether or not it began
	// then.
	whole []time.Duration
	each  [steps][]time.Duration
	// own is the CPU time of this process: of people and provider.
	own time.Duration
}

// run begins a login whenever one is due, whether or not those before it are done.
func run(ctx context.Context, who doer, perMinute int, d time.Duration) *results {
	r := &results{perMinute: perMinute, asked: max(1, int(float64(perMinute)*d.Minutes()))}
	between := d / time.Duration(r.asked)
	var (
		mu       sync.Mutex
		underWay int
		all      sync.WaitGroup
	)
	began, own := time.Now(), ownTime()
	for i := range r.asked {
		due := began.Add(time.Duration(i) * between)
		if ctx.Err() != nil {
			break
		}
		<-time.After(time.Until(due))
		mu.Lock()
		full := underWay >= atOnce
		if full {
			r.fail(errTooMany)
		} else {
			underWay++
		}
		mu.Unlock()
		if full {
			continue
		}
		all.Go(func() {
			limited, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			each, err := who.login(limited, i%people)
			whole := time.Since(due)
			mu.Lock()
			defer mu.Unlock()
			underWay--
			r.add(whole, each, err)
		})
	}
	all.Wait()
	r.elapsed, r.own = time.Since(began), ownTime()-own
	r.sort()
	return r
}

func (r *results) fail(err error) {
	r.failed++
	if r.firstError == nil {
		r.firstError = err
	}
}

func (r *results) add(whole time.Duration, each took, err error) {
	if err != nil {
		r.fail(err)
		return
	}
	r.done++
	r.whole = append(r.whole, whole)
	for s := range each {
		r.each[s] = append(r.each[s], each[s])
	}
}

func (r *results) sort() {
	slices.Sort(r.whole)
	for s := range r.each {
		slices.Sort(r.each[s])
	}
}

// keptUp reports whether all was done, and nearly all of it soon.
func (r *results) keptUp() bool { return r.failed == 0 && part(r.whole, 99) <= slow }

// part returns what so many hundredths are below.
func part(sorted []time.Duration, hundredths int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)*hundredths/100, len(sorted)-1)]
}

// ownTime returns the CPU time that this process has taken.
func ownTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // It fails for bad arguments alone.
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// usage is what a way has taken.
type usage struct {
	cpu      time.Duration
	resident string
	file     string
}

func (w way) usage(t *testing.T) usage {
	t.Helper()
	u := usage{cpu: w.program.CPU(), resident: w.program.Memory(t).String(), file: "-"}
	if w.file == "" {
		return u
	}
	var size int64
	// What was written last is beside it.
	for _, path := range []string{w.file, w.file + "-wal"} {
		if info, err := os.Stat(path); err == nil {
			size += info.Size()
		}
	}
	u.file = fmt.Sprintf("%.1f", float64(size)/1e6)
	return u
}

// table has a line for each way and rate.
type table struct{ rows strings.Builder }

const heading = "| way | a minute | done | failed | login | authorize | callback | consent | token | refresh | CPU s | CPU ms a login | resident MB | file MB | others' CPU s |\n" +
	"| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"

func (t *table) add(w way, r *results, before, after usage) {
	perMinute := fmt.Sprint(r.perMinute)
	if !r.keptUp() {
		perMinute += ", too many"
	}
	fmt.Fprintf(&t.rows, "| %s | %s | %d | %d | %s |", w.name, perMinute, r.done, r.failed, cell(r.whole))
	for _, each := range r.each {
		fmt.Fprintf(&t.rows, " %s |", cell(each))
	}
	cpu := after.cpu - before.cpu
	fmt.Fprintf(&t.rows, " %.1f | %.1f | %s | %s | %.1f |\n",
		cpu.Seconds(), cpu.Seconds()*1e3/float64(max(1, r.done)), after.resident, after.file, r.own.Seconds())
}

// cell has the median and what 99 of a hundred are below, in milliseconds.
func cell(sorted []time.Duration) string {
	return fmt.Sprintf("%.1f / %.1f", part(sorted, 50).Seconds()*1e3, part(sorted, 99).Seconds()*1e3)
}

// String returns the table in Markdown.
func (t *table) String() string { return heading + t.rows.String() }
