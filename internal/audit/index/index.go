// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

const (
	// batch is how many records are written at once: a few milliseconds' work.
	batch = 500
	// maxQueued is how many records wait in memory, of some 1 KiB each. With
	// more, those of the trail's files are read once there is time.
	maxQueued = 8192
	// pauseAtLeast and pauseAtMost are between attempts on a database that is
	// away.
	pauseAtLeast, pauseAtMost = 250 * time.Millisecond, 30 * time.Second
	// writeTimeout bounds one write.
	writeTimeout = 10 * time.Second
	// prepareTimeout bounds the making of the tables. An index over the entries
	// of another release takes some seconds for each 1,000,000 of them.
	prepareTimeout = 15 * time.Minute
	// purgeEvery is how often old entries are looked for. Days are what they
	// are kept for.
	purgeEvery = time.Hour
)

// Config says what an index follows and for how long it keeps it.
type Config struct {
	// Files returns the files of the trail, the oldest first. Without them,
	// nil, what is written while the database is away may be lost to the index.
	Files func() ([]string, error)
	// Keep says for how long the entries of a user are kept; those of nobody
	// are of the user "". It is asked for every user at each purge.
	Keep func(user string) time.Duration
	Log  *slog.Logger
}

// storage is where an index is kept: a database, or another process that has
// one.
type storage interface {
	// prepare makes the storage ready for use, and prepared reports whether it
	// has once been.
	prepare(ctx context.Context) error
	prepared() bool
	add(ctx context.Context, records []audit.Record) error
	progress(ctx context.Context, writer string) (uint64, error)
	// users returns whose entries there are, and purge removes those of each
	// user from before that time.
	users(ctx context.Context) ([]string, error)
	purge(ctx context.Context, before map[string]time.Time) (removed int64, err error)
	Search(ctx context.Context, q audit.Query) (audit.Page, error)
	Figures(ctx context.Context, q audit.FiguresQuery) (audit.Figures, error)
	Uses(ctx context.Context, from, to time.Time) ([]audit.Use, error)
	Close() error
}

// Index follows an audit trail.
type Index struct {
	store  storage
	config Config
	trail  *trail
	m      *metrics
	now    func() time.Time
	wake   chan struct{}
	gone   audit.Head // the line in front of which lines were looked for; Run's alone

	mu     sync.Mutex
	queue  queue
	behind bool // records are lacking in front of the queue
	// since is the time of the first of them. Before it is known what there is,
	// at the start, it is the time of the start.
	since time.Time
	// writing is the time of the first record that is being written.
	writing time.Time
}

// New returns the index in store, a *Store or a *Remote, which it closes at the
// end of Run.
func New(store storage, config Config) *Index {
	x := &Index{store: store, config: config, now: time.Now, wake: make(chan struct{}, 1), behind: config.Files != nil}
	if config.Files != nil {
		x.trail, x.since = &trail{files: config.Files}, x.now()
	}
	x.m = newMetrics(x.lag, store.prepared)
	return x
}

// Follow takes what was written to the trail. It never blocks: the sink waits
// for it.
func (x *Index) Follow(records []audit.Record) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, r := range records {
		if x.queue.full() {
			x.drop(x.queue.pop())
		}
		x.queue.push(r)
	}
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// drop forgets a record for which there is no room. The trail's files have it,
// if there are any.
func (x *Index) drop(r audit.Record) {
	if x.trail == nil {
		x.m.lost.Inc()
	} else {
		x.lack(r.Entry.Time)
	}
}

// lack notes that a record of that time is lacking.
func (x *Index) lack(at time.Time) {
	if !x.behind || at.Before(x.since) {
		x.since = at
	}
	x.behind = true
}

// lag returns for how long the oldest record has waited.
func (x *Index) lag() time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := x.now()
	oldest := now
	for _, waits := range []time.Time{x.writing, x.since} {
		if !waits.IsZero() && waits.Before(oldest) {
			oldest = waits
		}
	}
	if x.queue.len() > 0 {
		if first := x.queue.at(0).Entry.Time; first.Before(oldest) {
			oldest = first
		}
	}
	return now.Sub(oldest)
}

// Run fills the index until ctx ends, and closes it. Whatever fails is tried
// again: an index that is away keeps nobody from anything but asking it.
func (x *Index) Run(ctx context.Context) error {
	var purging sync.WaitGroup
	purging.Go(func() { x.purgeUntil(ctx) })
	pause := pauseAtLeast
	for ctx.Err() == nil {
		err := x.fill(ctx)
		if err == nil {
			pause = pauseAtLeast
			select {
			case <-ctx.Done():
			case <-x.wake:
			}
			continue
		}
		if ctx.Err() == nil {
			x.m.failures.Inc()
			x.config.Log.WarnContext(ctx, "the audit index cannot be written to, and is tried again", "lag", x.lag(), "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, pauseAtMost)
	}
	purging.Wait()
	x.finish(context.WithoutCancel(ctx))
	return x.store.Close()
}

// finish writes what still waits, since the next process may be elsewhere.
func (x *Index) finish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	err := x.fill(ctx)
	if err == nil {
		return
	}
	x.mu.Lock()
	left := x.queue.len()
	if x.trail == nil {
		x.m.lost.Add(float64(left))
	}
	x.mu.Unlock()
	x.config.Log.WarnContext(ctx, "the audit index ends before the trail", "lines", left, "error", err)
}

// fill writes until nothing waits. It says so if there is no database, also
// when there is nothing to write.
func (x *Index) fill(ctx context.Context) error {
	if err := x.prepare(ctx); err != nil {
		return err
	}
	for {
		x.mu.Lock()
		behind := x.behind
		x.mu.Unlock()
		if behind {
			if err := x.catchUp(ctx); err != nil {
				return err
			}
		}
		more, err := x.writeQueued(ctx)
		if err != nil || !more {
			return err
		}
	}
}

// catchUp reads what is lacking from the trail's files. What is written
// meanwhile is in the queue as well, and does no harm twice.
func (x *Index) catchUp(ctx context.Context) error {
	x.mu.Lock()
	x.behind = false // Set again by whatever is dropped from here on.
	since := x.since
	x.mu.Unlock()
	progress := func(writer string) (uint64, error) { return x.known(ctx, writer) }
	err := x.trail.read(ctx, progress, func(records []audit.Record) error {
		x.mu.Lock()
		x.writing = records[0].Entry.Time
		x.mu.Unlock()
		return x.write(ctx, records)
	})
	x.mu.Lock()
	defer x.mu.Unlock()
	if err != nil {
		// From the earlier time on, whatever was dropped since.
		x.lack(since)
		if !x.writing.IsZero() {
			x.lack(x.writing)
		}
	} else if !x.behind {
		x.since = time.Time{}
	}
	x.writing = time.Time{}
	return err
}

// writeQueued writes some of the queue. It returns whether there may be more to
// do.
func (x *Index) writeQueued(ctx context.Context) (more bool, err error) {
	records := x.takeQueued()
	if len(records) == 0 {
		return false, nil
	}
	lacking, err := x.lacks(ctx, records[0])
	if err == nil && !lacking {
		err = x.write(ctx, records)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.writing = time.Time{}
	if lacking {
		x.lack(records[0].Entry.Time)
	}
	if err != nil || lacking {
		x.putBack(records)
	}
	return x.behind || x.queue.len() > 0, err
}

// putBack takes records that were not written into the queue again, in front of
// what has come since.
func (x *Index) putBack(records []audit.Record) {
	for i, r := range slices.Backward(records) {
		if x.queue.full() {
			for _, old := range records[:i+1] {
				x.drop(old)
			}
			return
		}
		x.queue.pushOldest(r)
	}
}

// takeQueued takes a batch off the queue, of lines that follow one another.
func (x *Index) takeQueued() []audit.Record {
	x.mu.Lock()
	defer x.mu.Unlock()
	records := make([]audit.Record, 0, min(batch, x.queue.len()))
	for len(records) < cap(records) {
		if n := len(records); n > 0 && x.queue.at(0).Seq != records[n-1].Seq+1 {
			break
		}
		records = append(records, x.queue.pop())
	}
	if len(records) > 0 {
		x.writing = records[0].Entry.Time
	}
	return records
}

// lacks reports whether lines before this one are missing that the trail's
// files may have: the mark of a torn line, which the sink does not report, or
// lines of a file that was being renamed while the files were read. Lines that
// were searched already are lost.
func (x *Index) lacks(ctx context.Context, r audit.Record) (bool, error) {
	if x.trail == nil || r.Head == x.gone {
		return false, nil
	}
	known, err := x.known(ctx, r.Writer)
	if err != nil || r.Seq <= known+1 {
		return false, err
	}
	x.gone = r.Head
	return true, nil
}

// known returns up to which line the writer's chain is in the index.
func (x *Index) known(ctx context.Context, writer string) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return x.store.progress(ctx, writer)
}

func (x *Index) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	return x.store.prepare(ctx)
}

func (x *Index) write(ctx context.Context, records []audit.Record) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := x.store.add(ctx, records); err != nil {
		return err
	}
	x.m.indexed.Add(float64(len(records)))
	return nil
}

// Search returns a page of entries, and how far the index is behind.
func (x *Index) Search(ctx context.Context, q audit.Query) (audit.Page, error) {
	page, err := x.store.Search(ctx, q)
	page.Lag = x.lag()
	return page, err
}

// purgeUntil removes old entries now and then until ctx ends.
func (x *Index) purgeUntil(ctx context.Context) {
	for pause := time.Minute; ; pause = purgeEvery {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		removed, err := x.purge(ctx)
		x.m.purged.Add(float64(removed))
		if err != nil && ctx.Err() == nil {
			x.config.Log.WarnContext(ctx, "old audit entries are not removed", "error", err)
		}
	}
}
