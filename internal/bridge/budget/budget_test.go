// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostedbridge/hostedbridge/test/must"
)

const mb = 1 << 20

// newBudget returns a budget of 60 MiB for messages.
func newBudget() *Budget { return New(Reserve+60*mb, Patience) }

// share returns a share that is closed at the end of the test.
func share(b *Budget) *Share {
	s := b.Share()
	return &s
}

// begins runs f in a goroutine and returns the channel of its result.
func begins(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

func waits(t *testing.T, what string, done <-chan error) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-done:
		t.Fatalf("%s did not wait: %v", what, err)
	default:
	}
}

func TestMessagesWaitForMemoryInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget()
		first, second, third := share(b), share(b), share(b)
		must.Succeed(t, first.Count(t.Context(), 8*mb))
		large := begins(func() error { return second.Count(t.Context(), 8*mb) })
		waits(t, "an answer without memory", large)
		small := begins(func() error { return third.Count(t.Context(), mb) })
		waits(t, "an answer behind one that waits", small)
		first.Close()
		for _, done := range []<-chan error{large, small} {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		second.Close()
		third.Close()
		if b.Used() != 0 {
			t.Errorf("%d bytes stay in use", b.Used())
		}
	})
}

func TestAMessageThatIsAloneAlwaysFits(t *testing.T) {
	b := newBudget()
	s := share(b)
	if err := s.TakeRequest(t.Context(), 16*mb); err != nil {
		t.Error(err)
	}
	s.Sent()
	if err := s.Count(t.Context(), 16*mb); err != nil {
		t.Error(err)
	}
	s.Close()
	if b.Used() != 0 {
		t.Errorf("%d bytes stay in use", b.Used())
	}
}

func TestAMessageIsRefusedWhenItsPatienceIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget()
		holder, late := share(b), share(b)
		defer holder.Close()
		must.Succeed(t, holder.Count(t.Context(), 12*mb))
		began := time.Now()
		if err := late.Count(t.Context(), mb); !errors.Is(err, ErrBusy) || time.Since(began) != Patience {
			t.Errorf("error %v after %s, want %v after %s", err, time.Since(began), ErrBusy, Patience)
		}
		if err := late.Count(t.Context(), Free); err != nil {
			t.Errorf("a small message is refused: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := begins(func() error { return late.Count(ctx, mb) })
		waits(t, "an answer", done)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("the call that was cancelled ends with %v", err)
		}
	})
}

func TestRequestsLeaveHalfOfTheMemoryToAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget()
		first, second := share(b), share(b)
		must.Succeed(t, first.TakeRequest(t.Context(), 4*mb))
		next := begins(func() error { return second.TakeRequest(t.Context(), 2*mb) })
		waits(t, "a request beyond half of the memory", next)
		if err := first.Count(t.Context(), 4*mb); err != nil {
			t.Errorf("an answer waits for requests: %v", err)
		}
		first.Sent()
		first.Sent()
		if err := <-next; err != nil {
			t.Error(err)
		}
		if want := int64((4*SentFactor + 4*AnswerFactor + 2*RequestFactor) * mb); b.Used() != want {
			t.Errorf("%d bytes are in use, want %d", b.Used(), want)
		}
		first.Close()
		second.Close()
	})
}

func TestTheSlowestAnswerIsCutOffForOneThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget()
		slow, other := share(b), share(b)
		cut := make(chan struct{})
		arriving, err := slow.TakeAnswer(t.Context(), 10*mb, func() { close(cut) })
		if err != nil {
			t.Fatal(err)
		}
		done := begins(func() error { return other.Count(t.Context(), 10*mb) })
		<-cut
		if arriving.Received(mb) {
			t.Error("the answer that was cut off counts as received")
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		slow.Close()
		other.Close()
		if b.Used() != 0 {
			t.Errorf("%d bytes stay in use", b.Used())
		}
	})
}
