// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package programio

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hostedbridge/hostedbridge/internal/bridge/stdio"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// endless is a program that writes one message without an end, and heeds nothing.
type endless struct {
	once     sync.Once
	released chan struct{}
}

func (e *endless) Start(context.Context) (stdio.Pipes, error) { return e, nil }

func (e *endless) Read(b []byte) (int, error) {
	select {
	case <-e.released:
		return 0, io.EOF
	default:
		return len(b), nil // Whatever is there: no end of a line.
	}
}

func (e *endless) Write(b []byte) (int, error) { return len(b), nil }
func (e *endless) Name() string                { return "x" }
func (e *endless) End()                        {}
func (e *endless) Outcome() error              { return nil }
func (e *endless) Release()                    { e.once.Do(func() { close(e.released) }) }

func TestOutputWithoutEndEndsTheConnection(t *testing.T) {
	e := &endless{released: make(chan struct{})}
	d := &dialect{log: slog.New(slog.DiscardHandler), hide: stdio.Launch{}.Redactor(), grace: 100 * time.Millisecond}
	c := must.Value(d.dialer(e)(t.Context()))(t)
	defer func() { _ = c.Close() }()
	if _, err := c.Read(); err == nil || !strings.Contains(err.Error(), "256 MiB") {
		t.Errorf("got %v", err)
	}
	<-e.released
}
