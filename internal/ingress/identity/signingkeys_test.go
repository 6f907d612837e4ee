// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/client"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// newKeybroker returns one that is known and cannot be reached.
func newKeybroker(t *testing.T) *client.Login {
	t.Helper()
	authority := must.Value(pki.NewAuthority([32]byte{1}))(t)
	broker, err := client.New(client.Config{URL: "https://127.0.0.1:1", CAPEM: authority.CertificatePEM(), TokenFile: "/nowhere/token", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return client.NewLogin(broker, client.NewSource(broker, clock.System{}))
}

// TestSigningKeysAreWaitedFor has them asked for when a process begins: a failure
// would be kept for longer than it takes to know the keybroker.
func TestSigningKeysAreWaitedFor(t *testing.T) {
	asked := map[string]func(context.Context, *SigningKeys) error{
		"keys": func(ctx context.Context, k *SigningKeys) error { _, err := k.Keys(ctx); return err },
		"sign": func(ctx context.Context, k *SigningKeys) error { _, err := k.Sign(ctx, []byte("{}")); return err },
	}
	for name, ask := range asked {
		t.Run(name, func(t *testing.T) {
			login := newKeybroker(t)
			synctest.Test(t, func(t *testing.T) {
				keys := &SigningKeys{}
				answer := make(chan error, 2)
				go func() { answer <- ask(t.Context(), keys) }()
				expectNone := func(while string) {
					t.Helper()
					time.Sleep(keybrokerPatience / 4)
					synctest.Wait()
					if len(answer) > 0 {
						t.Errorf("%s: %v", while, <-answer)
					}
				}
				expectNone("before the keybroker is known")
				// This one has no certificate, and never gets one.
				keys.use(login, make(chan struct{}))
				expectNone("before it has given a certificate")
				certified := make(chan struct{})
				keys.use(login, certified)
				go func() { answer <- ask(t.Context(), keys) }()
				expectNone("before the other one has")
				close(certified)
				for range cap(answer) {
					if err := <-answer; err == nil || errors.Is(err, ErrNoKeybroker) {
						t.Errorf("the keybroker was not asked: %v", err)
					}
				}
			})
		})
	}
}

func TestSigningKeysAreNotWaitedForForEver(t *testing.T) {
	for name, test := range map[string]struct{ patience, want time.Duration }{
		"longer than whoever asks waits": {time.Second, time.Second},
		"by who would":                   {time.Hour, keybrokerPatience},
		"by who has left":                {0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), test.patience)
				defer cancel()
				begun, keys := time.Now(), &SigningKeys{}
				_, err := keys.Keys(ctx)
				if took := time.Since(begun); !errors.Is(err, ErrNoKeybroker) || took != test.want {
					t.Errorf("after %v: %v", took, err)
				}
			})
		})
	}
}

func TestTheKeybrokerThatIsKnownLastSigns(t *testing.T) {
	keys, ready := &SigningKeys{}, make(chan struct{})
	close(ready)
	for range 2 {
		login := newKeybroker(t)
		keys.use(login, ready)
		if got, err := keys.await(t.Context()); got != login || err != nil {
			t.Errorf("%p, %v, want %p", got, err, login)
		}
	}
}
