// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func id(n int) json.RawMessage { return json.RawMessage(strconv.Itoa(n)) }

func TestAServersPingsWaitForThoseBeforeThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAsked(NewAskLimit())
		var entered []*OpenRequest
		for i := range maxAnswering {
			entered = append(entered, must.Value(a.Enter(t.Context(), id(i), methods.Ping))(t))
		}
		done := make(chan error)
		go func() {
			_, err := a.Enter(t.Context(), id(100), methods.Ping)
			done <- err
		}()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("one more did not wait: %v", err)
		default:
		}
		// A question waits for a client, and holds up no ping.
		if r := must.Value(a.Enter(t.Context(), id(102), methods.Elicit))(t); r.Refused {
			t.Error("a question is refused")
		}
		a.Leave(entered[3])
		if err := <-done; err != nil {
			t.Error(err)
		}
		go func() {
			_, err := a.Enter(t.Context(), id(101), methods.Ping)
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
	var entered []*OpenRequest
	for i := range MaxQuestions {
		r := must.Value(a.Enter(t.Context(), id(i), methods.CreateMessage))(t)
		if entered = append(entered, r); r.Refused {
			t.Fatalf("question %d is refused", i)
		}
	}
	if r := must.Value(other.Enter(t.Context(), id(1), methods.ListRoots))(t); !r.Refused {
		t.Error("one more is not refused")
	}
	if _, err := a.Enter(t.Context(), json.RawMessage("1.0"), methods.CreateMessage); !errors.Is(err, ErrRepeated) {
		t.Errorf("one with an id in use gets %v", err)
	}
	a.Leave(entered[1])
	if r := must.Value(a.Enter(t.Context(), id(1), methods.CreateMessage))(t); r.Refused {
		t.Error("one after an answer is refused")
	}
}

// TestARequestEndsWhenItsServerCancelsIt and the client learns in which words.
func TestARequestEndsWhenItsServerCancelsIt(t *testing.T) {
	a := NewAsked(NewAskLimit())
	kept, withdrawn := must.Value(a.Enter(t.Context(), id(1), methods.Elicit))(t), must.Value(a.Enter(t.Context(), json.RawMessage(`"a\/b"`), methods.Elicit))(t)
	for _, params := range []string{`{"requestId":7}`, `{}`, `[]`, `{"requestId":"a/b","reason":"late"}`} {
		a.Withdraw(json.RawMessage(params))
	}
	if words, ok := withdrawn.Withdrawal.Get(); !ok || string(words) != `{"requestId":"a/b","reason":"late"}` || withdrawn.Ctx.Err() == nil {
		t.Errorf("the words are %s, %t", words, ok)
	}
	if _, ok := kept.Withdrawal.Get(); ok || kept.Ctx.Err() != nil {
		t.Error("another request is cancelled")
	}
	a.Close()
	if kept.Ctx.Err() == nil {
		t.Error("a request outlasts its connection")
	}
}

func TestNotificationsWaitForAClientThatReadsAndAreDroppedForOneThatDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAsked(NewAskLimit())
		enter := func() bool { return a.EnterNote(t.Context(), noteUnit*maxNotes/2) }
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
