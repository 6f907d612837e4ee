// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"

	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestAServersPingsWaitForThoseBeforeThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAsked(NewAskLimit())
		for i := range maxAnswering {
			must.Value(a.Enter(t.Context(), fmt.Sprint(i), methods.Ping))(t)
		}
		done := make(chan error)
		go func() {
			_, err := a.Enter(t.Context(), "next", methods.Ping)
			done <- err
		}()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("one more did not wait: %v", err)
		default:
		}
		// A question waits for a client, and holds up no ping.
		if refused, err := a.Enter(t.Context(), "question", methods.Elicit); refused || err != nil {
			t.Errorf("a question is refused: %v, %v", refused, err)
		}
		a.Leave("3")
		if err := <-done; err != nil {
			t.Error(err)
		}
		go func() {
			_, err := a.Enter(t.Context(), "last", methods.Ping)
			done <- err
		}()
		synctest.Wait()
		a.Close()
		if err := <-done; !errors.Is(err, io.EOF) {
			t.Errorf("the one that waits at the end gets %v", err)
		}
		if len(a.limit.answering) != 0 || a.limit.questions != 0 {
			t.Errorf("%d and %d stay counted", len(a.limit.answering), a.limit.questions)
		}
	})
}

func TestQuestionsBeyondTheLimitAreRefused(t *testing.T) {
	limit := NewAskLimit()
	a, other := NewAsked(limit), NewAsked(limit)
	for i := range MaxQuestions {
		if refused, err := a.Enter(t.Context(), fmt.Sprint(i), methods.CreateMessage); refused || err != nil {
			t.Fatalf("question %d is refused: %v", i, err)
		}
	}
	if refused, err := other.Enter(t.Context(), "1", methods.ListRoots); !refused || err != nil {
		t.Errorf("one more is not refused: %v", err)
	}
	if _, err := a.Enter(t.Context(), "1", methods.CreateMessage); !errors.Is(err, ErrRepeated) {
		t.Errorf("one with an id in use gets %v", err)
	}
	a.Leave("1")
	if refused, err := a.Enter(t.Context(), "1", methods.CreateMessage); refused || err != nil {
		t.Errorf("one after an answer is refused: %v", err)
	}
}

func TestNotificationsWaitForAClientThatReadsAndAreDroppedForOneThatDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAsked(NewAskLimit())
		enter := func() bool { return a.EnterNote(t.Context(), methods.LogMessage, noteUnit*maxNotes/2) }
		if !enter() {
			t.Fatal("the first is dropped")
		}
		second := make(chan bool)
		go func() { second <- enter() }()
		synctest.Wait()
		a.LeaveNote()
		if !<-second {
			t.Error("one that waited for a client that reads is dropped")
		}
		for range 2 {
			if enter() {
				t.Error("one is kept that no client takes")
			}
		}
		a.LeaveNote()
		if !enter() {
			t.Error("one is dropped although a client reads again")
		}
	})
}
