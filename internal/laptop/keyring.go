// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package laptop

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/zalando/go-keyring"
)

// keyringTimeout limits a call of the keyring. A locked keyring shows a dialog, for which a person
// needs a moment; on a machine without a screen it would wait for ever.
const keyringTimeout = 20 * time.Second

var (
	errNoKeyring      = errors.New("the secret is in the system's keyring, which is not there now")
	errKeyringTimeout = errors.New("the system's keyring does not answer; set HOSTED_BRIDGE_SECRETS=file to keep secrets in a file")
)

// SystemKeyring returns the system's keyring, nil if the system has none. HOSTED_BRIDGE_SECRETS=file
// disables it.
func SystemKeyring(getenv func(string) string) Keyring {
	if getenv("HOSTED_BRIDGE_SECRETS") == "file" || runtime.GOOS == "linux" && !sessionBus(getenv) {
		return nil
	}
	return systemKeyring{timeout: keyringTimeout}
}

// sessionBus reports whether there is a desktop session, which a keyring needs. Without one, the
// library would start a bus of its own without a keyring.
func sessionBus(getenv func(string) string) bool {
	if getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return true
	}
	_, err := os.Stat(filepath.Join("/run/user", strconv.Itoa(os.Getuid()), "bus"))
	return err == nil
}

type systemKeyring struct {
	timeout time.Duration
}

// bounded runs f with a time limit. f cannot be cancelled: if it hangs, its goroutine is left
// behind.
func (k systemKeyring) bounded(ctx context.Context, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, k.timeout)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return errKeyringTimeout
	}
}

func (k systemKeyring) Get(ctx context.Context, secret string) (string, error) {
	value := make(chan string, 1)
	err := k.bounded(ctx, func() error {
		v, err := keyring.Get(name, secret)
		value <- v
		return err
	})
	if err != nil {
		return "", err
	}
	return <-value, nil
}

func (k systemKeyring) Set(ctx context.Context, secret, value string) error {
	return k.bounded(ctx, func() error { return keyring.Set(name, secret, value) })
}

func (k systemKeyring) Delete(ctx context.Context, secret string) error {
	err := k.bounded(ctx, func() error { return keyring.Delete(name, secret) })
	if errors.Is(err, keyring.ErrNotFound) {
		return nil // another process was faster
	}
	return err
}
