// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// pause is between two looks at what a rotation waits for. Replicas look
	// for another ring every five seconds.
	pause = 2 * time.Second

	// tolerated is how many looks or writes in a row may fail: an API server
	// that restarts does not end a rotation.
	tolerated = 5
)

// Ring is a ring of master keys that is rotated.
type Ring interface {
	// State reads the ring.
	State(ctx context.Context) (RingState, error)
	// Do does a step that changes the ring, if it still is as it was read. The
	// error is ErrOvertaken if it is not, and an Instruction if this step is
	// not the program's to do.
	Do(ctx context.Context, step Step, state RingState) error
}

// ErrOvertaken says that the ring is not as it was read any more.
var ErrOvertaken = errors.New("somebody else changed the ring meanwhile")

// Instruction is what somebody has to do for the rotation to go on.
type Instruction string

// Error implements error.
func (i Instruction) Error() string { return string(i) }

// Rotation replaces the master key. Whoever runs it again after it ended
// somewhere, or at the same time, goes on where it was.
type Rotation struct {
	Ring Ring
	// Replicas lists the keybrokers that run.
	Replicas func(ctx context.Context) ([]Replica, error)
	// Count counts the envelopes.
	Count func(ctx context.Context) (Census, error)
	// Tell is told what is done and waited for, once for each.
	Tell func(line string)

	told string
	// added says that this run made a version. It makes no other, whatever it
	// sees: a provider may answer a moment later as if there were none.
	added bool
}

// RotationReport is how things are with a rotation.
type RotationReport struct {
	Ring     RingState `json:"ring"`
	Replicas []Replica `json:"replicas"`
	// Envelopes are their numbers by key.
	Envelopes map[string]int `json:"envelopes"`
	// Done is what this run did, Next what remains, and Instruction how to do
	// what the program cannot.
	Done        []string `json:"done"`
	Next        []string `json:"next"`
	Instruction string   `json:"instruction,omitempty"`

	census Census
}

// Census returns the envelopes' numbers for people.
func (r *RotationReport) Census() Census { return r.census }

// seen is one look at all that decides.
type seen struct {
	ring     RingState
	replicas []Replica
}

func (r *Rotation) look(ctx context.Context) (s seen, err error) {
	if s.ring, err = r.Ring.State(ctx); err != nil {
		return s, err
	}
	s.replicas, err = r.Replicas(ctx)
	return s, err
}

// Look reports how things are and changes nothing. What remains is that of a
// rotation, or of the removal of what one has retired.
func (r *Rotation) Look(ctx context.Context, retire bool) (RotationReport, error) {
	s, err := r.look(ctx)
	if err != nil {
		return RotationReport{}, err
	}
	step := Decide(s.ring, s.replicas)
	report, err := r.report(ctx, s)
	if err != nil {
		return RotationReport{}, err
	}
	if step == StepAwaitRewrapped && report.census.other(s.ring.key()) == 0 {
		step = StepSetMinimum
	}
	report.Next = remaining(step, s)
	if retire {
		report.Next = r.remainingRetirement(s, report.census)
	}
	return report, nil
}

// report counts the envelopes.
func (r *Rotation) report(ctx context.Context, s seen) (RotationReport, error) {
	census, err := r.Count(ctx)
	if err != nil {
		return RotationReport{}, err
	}
	return RotationReport{Ring: s.ring, Replicas: s.replicas, Envelopes: census.keys(), census: census, Done: []string{}, Next: []string{}}, nil
}

// Run rotates until the older versions can be removed, or until somebody has
// to do something that the report then says. An unfinished rotation is
// finished; only where there is none a new one begins.
func (r *Rotation) Run(ctx context.Context) (RotationReport, error) {
	begun := false
	done, err := r.loop(ctx, func(ctx context.Context, s seen) (Step, string, error) {
		step := Decide(s.ring, s.replicas)
		switch {
		case begun && step <= StepAdd:
			return StepComplete, "", nil // Another process finished and cleared up.
		case r.added && step == StepAdd:
			return step, "waiting until the new version is seen", nil
		}
		begun = begun || step > StepAdd
		if step != StepAwaitRewrapped {
			return step, waitsFor(step, s), nil
		}
		census, err := r.Count(ctx)
		if err != nil {
			return step, "", err
		}
		if census.other(s.ring.key()) == 0 {
			return StepSetMinimum, "", nil
		}
		return step, rewrapping(census, s.ring), nil
	})
	return r.finish(ctx, done, err, false)
}

// finish reports how things are after the work.
func (r *Rotation) finish(ctx context.Context, done []string, err error, retire bool) (RotationReport, error) {
	var instruction Instruction
	if err != nil && !errors.As(err, &instruction) {
		return RotationReport{Done: done}, err
	}
	report, err := r.Look(ctx, retire)
	if err != nil {
		return RotationReport{Done: done}, err
	}
	report.Done, report.Instruction = done, string(instruction)
	if instruction == "" {
		report.Next = afterwards(report.Ring)
	}
	return report, nil
}

// decision is what comes next, and what a step that waits waits for.
type decision func(ctx context.Context, s seen) (step Step, waiting string, err error)

// loop looks, decides and does until StepComplete.
func (r *Rotation) loop(ctx context.Context, decide decision) (done []string, err error) {
	done = []string{}
	failures := 0
	for {
		began := time.Now()
		next, err := r.once(ctx, decide)
		if err == nil {
			failures = 0
		} else {
			failures++
			if err := r.final(ctx, err, failures); err != nil {
				return done, err
			}
			next.waiting = err.Error()
		}
		switch {
		case next.complete:
			return done, nil
		case next.did != "":
			done = append(done, next.did)
			continue
		}
		r.tell(next.waiting)
		// A look that counts many envelopes is not repeated so fast that the
		// API server has nothing else to do.
		if !sleep(ctx, max(pause, 2*time.Since(began))) {
			return done, stopped(ctx, next.waiting)
		}
	}
}

// final returns the error with which the rotation ends, nil if it may go on.
func (r *Rotation) final(ctx context.Context, err error, failures int) error {
	switch {
	case errors.As(err, new(Instruction)), errors.As(err, new(refusal)):
		return err
	case ctx.Err() != nil:
		return stopped(ctx, r.told)
	case errors.Is(err, ErrOvertaken):
		return nil
	case failures >= tolerated, r.told == "":
		return err // A first look that fails is a mistake rather than a moment.
	}
	return nil
}

// turn is what came of one look: something that was done, something to wait
// for, or the end.
type turn struct {
	did, waiting string
	complete     bool
}

// once looks, decides and does one step.
func (r *Rotation) once(ctx context.Context, decide decision) (turn, error) {
	s, err := r.look(ctx)
	if err != nil {
		return turn{}, err
	}
	step, waiting, err := decide(ctx, s)
	if err != nil || waiting != "" || step == StepComplete {
		return turn{waiting: waiting, complete: err == nil && step == StepComplete}, err
	}
	if err := r.Ring.Do(ctx, step, s.ring); err != nil {
		return turn{}, err
	}
	r.added = r.added || step == StepAdd
	did := step.describe(s.ring)
	r.tell(did)
	return turn{did: did}, nil
}

func (r *Rotation) tell(line string) {
	if line != r.told {
		r.told = line
		r.Tell(line)
	}
}

// stopped says why a rotation ends before its end.
func stopped(ctx context.Context, waiting string) error {
	why := "ended"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		why = "the time is over"
	}
	if waiting != "" {
		why += ": " + waiting
	}
	return fmt.Errorf("%s; the same command goes on from here: %w", why, ctx.Err())
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
