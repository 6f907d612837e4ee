// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package userkey

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// The reasons why an act on keys is not done.
var (
	// ErrNoBridge says that the HostedBridge is gone, or was replaced by
	// another one of the same name.
	ErrNoBridge = errors.New("there is no such HostedBridge")
	ErrNoKey    = errors.New("the HostedBridge has no key of that id")
	ErrTooMany  = fmt.Errorf("the HostedBridge has %d keys already", MaxKeys)
)

// ManagedError says that another field manager than the key's own holds a key.
type ManagedError struct {
	// By are the field managers that hold the key.
	By []string
}

// Error implements error.
func (e *ManagedError) Error() string {
	return "the key is held by the field managers " + strings.Join(e.By, ", ")
}

// UnsureError says that an act was sent to the API server, and that its result
// is not known, or only in part.
type UnsureError struct {
	// KeyID is the key that the act is about.
	KeyID string
	Err   error
}

// Error implements error.
func (e *UnsureError) Error() string { return e.Err.Error() }

// Unwrap returns what went wrong.
func (e *UnsureError) Unwrap() error { return e.Err }

// Bridge identifies the owner of the keys. The UID keeps an act from reaching a
// later HostedBridge of the same name.
type Bridge struct {
	types.NamespacedName

	UID types.UID
}
