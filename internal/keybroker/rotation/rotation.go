// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
)

const (
	// pause is between two checks of what a rotation waits for. Replicas read
	// the ring every five seconds.
	pause = 2 * time.Second

	// tolerated is how many reads or writes in a row may fail: an API server
	// that restarts does not end a rotation.
	tolerated = 5
)

// Ring is a ring of master keys that is rotated.
type Ring interface {
	// State reads the ring.
	State(ctx context.Context) (RingState, error)
	// Do does a step that changes the ring, if it still is as it was read. The
	// error is ErrOvertaken if it is not, and an Instruction if an
	// administrator has to do this step.
	Do(ctx context.Context, step Step, state RingState) error
}

// ErrOvertaken says that the ring has changed since it was read.
var ErrOvertaken = errors.New("somebody else changed the ring meanwhile")

// Instruction is what an administrator has to do before the rotation can go on.
type Instruction string

// Error implements error.
func (i Instruction) Error() string { return string(i) }

// Rotation replaces the master key. A second run, after the first one ended
// early or at the same time, continues where it was.
type Rotation struct {
	Ring Ring
	// Replicas lists the running keybrokers.
	Replicas func(ctx context.Context) ([]Replica, error)
	// Count counts the envelopes.
	Count func(ctx context.Context) (secretstore.KeyUsage, error)
	// Tell receives each completed step and each reason to wait, once.
	Tell func(line string)

	told string
	// added means that this run made a version. It makes no second one,
	// whatever it reads: a provider may not show the new version for a moment.
	added bool
}

// Report is the state of a rotation.
type Report struct {
	Ring     RingState `json:"ring"`
	Replicas []Replica `json:"replicas"`
	// Envelopes are their numbers by key.
	Envelopes map[string]int `json:"envelopes"`
	// Done is what this run did, Next what remains, and Instruction what an
	// administrator has to do.
	Done        []string `json:"done"`
	Next        []string `json:"next"`
	Instruction string   `json:"instruction,omitempty"`

	keyUsage secretstore.KeyUsage
}

// KeyUsage returns the numbers of envelopes, to be printed.
func (r *Report) KeyUsage() secretstore.KeyUsage { return r.keyUsage }

// observation is one reading of everything that decides the next step.
type observation struct {
	ring     RingState
	replicas []Replica
}

func (r *Rotation) observe(ctx context.Context) (s observation, err error) {
	if s.ring, err = r.Ring.State(ctx); err != nil {
		return s, err
	}
	s.replicas, err = r.Replicas(ctx)
	return s, err
}

// Preview reports the state and changes nothing. What remains is that of a
// rotation, or, with retire, of the removal of retired versions.
func (r *Rotation) Preview(ctx context.Context, retire bool) (Report, error) {
	s, err := r.observe(ctx)
	if err != nil {
		return Report{}, err
	}
	step := Decide(s.ring, s.replicas)
	report, err := r.report(ctx, s)
	if err != nil {
		return Report{}, err
	}
	if step == StepAwaitRewrapped && report.keyUsage.NotUnder(s.ring.key()) == 0 {
		step = StepSetMinimum
	}
	report.Next = remaining(step, s)
	if retire {
		report.Next = r.remainingRetirement(s, report.keyUsage)
	}
	return report, nil
}

// report counts the envelopes.
func (r *Rotation) report(ctx context.Context, s observation) (Report, error) {
	census, err := r.Count(ctx)
	if err != nil {
		return Report{}, err
	}
	return Report{Ring: s.ring, Replicas: s.replicas, Envelopes: census.ByName(), keyUsage: census, Done: []string{}, Next: []string{}}, nil
}

// Run rotates until the older versions can be removed, or until an
// administrator has to do something that the report then names. It finishes an
// unfinished rotation, and otherwise begins a new one.
func (r *Rotation) Run(ctx context.Context) (Report, error) {
	begun := false
	done, err := r.runSteps(ctx, func(ctx context.Context, s observation) (Step, string, error) {
		step := Decide(s.ring, s.replicas)
		switch {
		case begun && step <= StepAdd:
			return StepComplete, "", nil // Another process completed the rotation and removed the versions.
		case r.added && step == StepAdd:
			return step, "waiting until the new version is seen", nil
		}
		begun = begun || step > StepAdd
		if step != StepAwaitRewrapped {
			return step, waitReason(step, s), nil
		}
		census, err := r.Count(ctx)
		if err != nil {
			return step, "", err
		}
		if census.NotUnder(s.ring.key()) == 0 {
			return StepSetMinimum, "", nil
		}
		return step, rewrapping(census, s.ring), nil
	})
	return r.finish(ctx, done, err, false)
}

// finish reports the state after the work.
func (r *Rotation) finish(ctx context.Context, done []string, err error, retire bool) (Report, error) {
	var instruction Instruction
	if err != nil && !errors.As(err, &instruction) {
		return Report{Done: done}, err
	}
	report, err := r.Preview(ctx, retire)
	if err != nil {
		return Report{Done: done}, err
	}
	report.Done, report.Instruction = done, string(instruction)
	if instruction == "" {
		report.Next = afterwards(report.Ring)
	}
	return report, nil
}

// decision returns the next step, and the reason for a step that waits.
type decision func(ctx context.Context, s observation) (step Step, waiting string, err error)

// runSteps reads, decides and acts until StepComplete.
func (r *Rotation) runSteps(ctx context.Context, decide decision) (done []string, err error) {
	done = []string{}
	failures := 0
	for {
		began := time.Now()
		next, err := r.runStep(ctx, decide)
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
		r.logLine(next.waiting)
		// A reading that counts many envelopes is not repeated so fast that the
		// API server has no time for other work.
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
		return err // A first read that fails is a mistake rather than a moment's outage.
	}
	return nil
}

// stepResult is the result of one step: something that was done, something to
// wait for, or the end.
type stepResult struct {
	did, waiting string
	complete     bool
}

// runStep reads, decides and does one step.
func (r *Rotation) runStep(ctx context.Context, decide decision) (stepResult, error) {
	s, err := r.observe(ctx)
	if err != nil {
		return stepResult{}, err
	}
	step, waiting, err := decide(ctx, s)
	if err != nil || waiting != "" || step == StepComplete {
		return stepResult{waiting: waiting, complete: err == nil && step == StepComplete}, err
	}
	if err := r.Ring.Do(ctx, step, s.ring); err != nil {
		return stepResult{}, err
	}
	r.added = r.added || step == StepAdd
	did := step.describe(s.ring)
	r.logLine(did)
	return stepResult{did: did}, nil
}

func (r *Rotation) logLine(line string) {
	if line != r.told {
		r.told = line
		r.Tell(line)
	}
}

// stopped says why a rotation ends early.
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
