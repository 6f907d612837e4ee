// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestore

import (
	"encoding/json"
	"log/slog"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestAnEndIsKeptUntilItsSessionsHaveEnded(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	e := ended{}.with("ann", at, time.Hour)
	if e = e.with("ben", at.Add(time.Hour), time.Hour); len(e) != 2 {
		t.Errorf("within the hour: %v", e)
	}
	if e = e.with("ben", at.Add(time.Hour+time.Second), time.Hour); len(e) != 1 || e["ann"] != 0 {
		t.Errorf("after it: %v", e)
	}
	if later := e["ben"]; e.with("ben", at, time.Hour)["ben"] != later {
		t.Error("an end by a clock that is slow takes a later one back")
	}
}

func TestTooManyEndsAreTheEndOfAllSessions(t *testing.T) {
	at, e := time.Unix(1_800_000_000, 0), ended{}
	for n := range maxEnded {
		e["0123456789-"+strconv.Itoa(10_000+n)] = at.UnixMilli()
	}
	if size := len(must.Value(json.Marshal(e))(t)); size > 700<<10 {
		t.Errorf("%d ends take %d bytes", maxEnded, size)
	}
	if e = e.with("ann", at, time.Hour); len(e) != 1 || e[everyone] != at.UnixMilli()+1 {
		t.Errorf("one more: %d of them", len(e))
	}
}

func TestEndsThatCannotBeReadEndAllSessions(t *testing.T) {
	s := &Sessions{log: slog.New(slog.DiscardHandler)}
	if _, err := s.EndedAt("ann"); err == nil {
		t.Error("the ends are known before they were read")
	}
	s.note(t.Context(), &corev1.ConfigMap{Data: map[string]string{sessionsKey: `{"ann":1000}`}})
	if at, err := s.EndedAt("ann"); err != nil || at.Unix() != 1 {
		t.Errorf("%v %v", at, err)
	}
	if at, err := s.EndedAt("ben"); err != nil || !at.IsZero() {
		t.Errorf("of somebody who did not log out: %v %v", at, err)
	}
	s.note(t.Context(), &corev1.ConfigMap{Data: map[string]string{sessionsKey: `{"ann":`}})
	if at, err := s.EndedAt("ben"); err != nil || at.IsZero() {
		t.Errorf("of ends that cannot be read: %v %v", at, err)
	}
}
