// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/test/must"
)

var lags = []time.Duration{3 * time.Second, 90 * time.Second, 40 * time.Second}

func oneVersion() map[string]string { return map[string]string{"1": canary, "authority": canary} }

func (w *world) expectRing(want RingState) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.ring()); diff != "" {
		w.t.Errorf("the ring (-want +got):\n%s", diff)
	}
}

func TestARotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, oneVersion(), lags...)
		w.census = secretstore.KeyUsage{{Algorithm: envelope.AlgorithmLocal, Version: 1}: 300}
		report, err := w.run(t.Context(), (*Rotation).Run)
		if err != nil {
			t.Fatal(err)
		}
		w.expectRing(local(2, 2, 1, 2))
		done := []string{"add version 2, and keep version 1 current", "make version 2 current", "raise the minimum to version 2"}
		if diff := cmp.Diff(done, report.Done); diff != "" {
			t.Errorf("done (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"remove version 1, when you ask for that: keybroker rotate --retire"}, report.Next); diff != "" {
			t.Errorf("next (-want +got):\n%s", diff)
		}
		if report.Envelopes["local:1"] != 0 || report.Envelopes["local:2"] < 300 {
			t.Errorf("envelopes are %v", report.Envelopes)
		}
		// What is left behind keeps another from beginning.
		if report, err = w.run(t.Context(), (*Rotation).Run); err != nil || len(report.Done) > 0 {
			t.Errorf("done again: %v, error %v", report.Done, err)
		}
		if report, err = w.run(t.Context(), (*Rotation).Retire); err != nil || !slices.Equal(report.Done, []string{"remove version 1"}) || len(report.Next) > 0 {
			t.Errorf("retired: %v, next %v, error %v", report.Done, report.Next, err)
		}
		w.expectRing(local(2, 2, 2))
		if report, err = w.run(t.Context(), (*Rotation).Retire); err != nil || len(report.Done) > 0 {
			t.Errorf("retired again: %v, error %v", report.Done, err)
		}
		if _, err = w.run(t.Context(), (*Rotation).Run); err != nil {
			t.Error(err)
		}
		w.expectRing(local(3, 3, 2, 3))
		w.expectNothingShown(report)
	})
}

// expectNothingShown looks for keys in all that a rotation says.
func (w *world) expectNothingShown(report Report) {
	w.t.Helper()
	said := must.Value(json.Marshal(report))(w.t)
	all := strings.Join(w.told, "\n") + string(said) + fmt.Sprintf("%+v", report)
	key := make([]byte, envelope.KeySize)
	_, _ = randomness{}.Read(key)
	for _, secret := range []string{canary, base64.StdEncoding.EncodeToString(key)} {
		if strings.Contains(all, secret) {
			w.t.Error("a rotation shows a key")
		}
	}
	if len(w.told) == 0 {
		w.t.Error("a rotation tells nothing")
	}
}

// TestARotationEndsAnywhereAndGoesOn ends it at each of its writes, in each way
// in which one can end, and runs it again until it is done.
func TestARotationEndsAnywhereAndGoesOn(t *testing.T) {
	for n := 1; n <= 3; n++ {
		for _, way := range []struct {
			name string
			die  func(cancel context.CancelFunc) error
		}{
			{"killed after write", func(cancel context.CancelFunc) error { cancel(); return nil }},
			{"killed before the answer to write", func(cancel context.CancelFunc) error { cancel(); return errKilled }},
			{"without the answer to write", func(context.CancelFunc) error { return errKilled }},
		} {
			t.Run(fmt.Sprintf("%s %d", way.name, n), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, oneVersion(), lags...)
					w.census = secretstore.KeyUsage{{Algorithm: envelope.AlgorithmLocal, Version: 1}: 50}
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					died := false
					w.dies = func(writes int) error {
						if writes != n {
							return nil
						}
						died = true
						return way.die(cancel)
					}
					_, first := w.run(ctx, (*Rotation).Run)
					if !died {
						t.Fatal("it did not come to that write")
					}
					if ctx.Err() != nil && n < 3 && first == nil {
						t.Error("it was killed and says nothing")
					}
					must.Value(w.run(t.Context(), (*Rotation).Run))(t)
					w.expectRing(local(2, 2, 1, 2))
				})
			})
		}
	}
}

// TestARotationEndsAtAnyTimeAndGoesOn ends it after every so many seconds.
func TestARotationEndsAtAnyTimeAndGoesOn(t *testing.T) {
	for seconds := time.Duration(1); seconds < 400; seconds += 7 {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, oneVersion(), lags...)
			w.census = secretstore.KeyUsage{{Algorithm: envelope.AlgorithmLocal, Version: 1}: 900}
			for tries := 0; ; tries++ {
				ctx, cancel := context.WithTimeout(t.Context(), seconds*time.Second)
				_, err := w.run(ctx, (*Rotation).Run)
				cancel()
				if err == nil {
					break
				}
				if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "goes on from here") || tries > 1000 {
					t.Fatal(tries, err)
				}
			}
			w.expectRing(local(2, 2, 1, 2))
		})
	}
}

func TestTwoRotationsAtOnceAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, oneVersion(), lags...)
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				if _, err := w.run(t.Context(), (*Rotation).Run); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		w.expectRing(local(2, 2, 1, 2))
	})
}

func TestAnAPIServerThatIsAwayForAMomentEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, oneVersion(), lags...)
		w.dies = func(int) error {
			w.Err = errors.New("connection refused")
			time.AfterFunc(6*time.Second, func() {
				w.Mu.Lock()
				defer w.Mu.Unlock()
				w.Err = nil
			})
			return nil
		}
		if _, err := w.run(t.Context(), (*Rotation).Run); err != nil && w.writes < 3 {
			t.Fatal(err)
		}
		w.expectRing(local(2, 2, 1, 2))
	})
}

func TestARotationThatCannotBeginSaysSoAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, oneVersion(), lags...)
		w.Err = errors.New("connection refused")
		began := time.Now()
		if _, err := w.run(t.Context(), (*Rotation).Run); !errors.Is(err, w.Err) || time.Since(began) > 0 {
			t.Errorf("after %s error %v", time.Since(began), err)
		}
	})
}

func TestOneThatStaysAwayEndsTheRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, oneVersion(), lags...)
		w.dies = func(int) error {
			w.Err = errors.New("connection refused")
			return nil
		}
		if _, err := w.run(t.Context(), (*Rotation).Run); err == nil || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("error %v", err)
		}
		w.expectRing(local(1, 1, 1, 2))
	})
}

func TestWhatDoesNotSayItsKeyHoldsUpTheMinimum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, map[string]string{"1": canary, "2": canary}, lags...)
		w.census = secretstore.KeyUsage{{}: 1}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		_, err := w.run(ctx, (*Rotation).Run)
		if err == nil || !strings.Contains(err.Error(), "1 of 1 left (not an envelope 1)") || !strings.Contains(err.Error(), "the time is over") {
			t.Errorf("error %v", err)
		}
		w.expectRing(local(2, 1, 1, 2))
	})
}

func TestALookChangesNothing(t *testing.T) {
	old := secretstore.KeyUsage{{Algorithm: envelope.AlgorithmLocal, Version: 1}: 2}
	for _, test := range []struct {
		name   string
		data   map[string]string
		census secretstore.KeyUsage
		retire bool
		next   []string
	}{
		{"before a rotation", oneVersion(), old, false, []string{
			"add version 2, and keep version 1 current", "wait until every replica has loaded version 2", "make version 2 current",
			"wait until every replica seals with version 2", "wait until no envelope is under a version before 2",
			"raise the minimum to version 2", "remove the older versions, when you ask for that: keybroker rotate --retire",
		}},
		{"when the version can become current", map[string]string{"1": canary, "2": canary, "current": "1"}, old, false, []string{
			"make version 2 current", "wait until every replica seals with version 2", "wait until no envelope is under a version before 2",
			"raise the minimum to version 2", "remove the older versions, when you ask for that: keybroker rotate --retire",
		}},
		{"when nothing old is left", map[string]string{"1": canary, "2": canary}, nil, false, []string{
			"raise the minimum to version 2", "remove the older versions, when you ask for that: keybroker rotate --retire",
		}},
		{"after it", map[string]string{"1": canary, "2": canary, "minimum": "2"}, nil, false, []string{
			"remove version 1, when you ask for that: keybroker rotate --retire",
		}},
		{"before the removal", map[string]string{"1": canary, "2": canary, "minimum": "2"}, nil, true, []string{"remove version 1"}},
		{"before a removal that would be refused", map[string]string{"1": canary, "2": canary, "minimum": "2"}, old, true, []string{
			"2 envelopes have a version below 2 or do not say theirs (local:1 2): keybroker verify names those that do not open",
		}},
		{"with nothing to remove", oneVersion(), nil, true, []string{}},
		{"with nothing to remove yet", map[string]string{"1": canary, "2": canary}, nil, true, []string{
			"the rotation to version 2 is not complete, and no version is retired before that",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, test.data, 0)
			w.census = test.census
			report := must.Value(w.rotation().Preview(t.Context(), test.retire))(t)
			if diff := cmp.Diff(test.next, report.Next); diff != "" {
				t.Errorf("next (-want +got):\n%s", diff)
			}
			if w.writes > 0 || len(report.Done) > 0 {
				t.Errorf("%d writes, done %v", w.writes, report.Done)
			}
		})
	}
}

func TestRetirement(t *testing.T) {
	rotated := map[string]string{"1": canary, "2": canary, "current": "2", "minimum": "2"}
	t.Run("it is refused while an envelope has the version", func(t *testing.T) {
		w := newWorld(t, rotated, 0)
		w.census = secretstore.KeyUsage{{Algorithm: envelope.AlgorithmLocal, Version: 1}: 1, {Algorithm: envelope.AlgorithmTransit, Version: 1}: 5}
		_, err := w.rotation().Retire(t.Context())
		if err == nil || !strings.Contains(err.Error(), "1 envelopes have a version below 2") {
			t.Errorf("error %v", err)
		}
		w.expectRing(local(2, 2, 1, 2))
	})
	t.Run("it is refused before the rotation is complete", func(t *testing.T) {
		w := newWorld(t, map[string]string{"1": canary, "2": canary}, 0)
		_, err := w.rotation().Retire(t.Context())
		if err == nil || !strings.Contains(err.Error(), "is not complete") {
			t.Errorf("error %v", err)
		}
		w.expectRing(local(2, 1, 1, 2))
	})
	t.Run("it waits for replicas that would still use the version", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, rotated, 0, 50*time.Second)
			w.history = []written{{time.Time{}, local(2, 1, 1, 2)}, {time.Now(), local(2, 2, 1, 2)}}
			began := time.Now()
			if _, err := w.rotation().Retire(t.Context()); err != nil {
				t.Error(err)
			}
			if waited := time.Since(began); waited < 50*time.Second {
				t.Errorf("waited for %s", waited)
			}
			w.expectRing(local(2, 2, 2))
		})
	})
}
