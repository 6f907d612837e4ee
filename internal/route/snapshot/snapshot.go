// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"errors"
	"fmt"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/route"
)

// ErrInstallation says that a file is of another installation that has the same
// key.
var ErrInstallation = errors.New("the snapshot is of another installation")

// clockSkew is how far a file may be ahead of the clock: a node's clock is set
// back by less when it is corrected while it runs.
const clockSkew = time.Minute

// Identity names the installation whose snapshots are read and written.
type Identity struct {
	// Installation is the namespace of the installation.
	Installation string
	Key          Key
}

// Table is a route table with the time at which the API server last vouched
// for it.
type Table struct {
	Routes    *route.Table
	Confirmed time.Time
}

type routesContent struct {
	Installation string    `json:"installation"`
	Confirmed    time.Time `json:"confirmed"`
	route.Content
}

// EncodeRoutes returns the file that holds t.
func (i Identity) EncodeRoutes(t Table) ([]byte, error) {
	return i.Key.seal(Routes, routesContent{
		Installation: i.Installation, Confirmed: t.Confirmed.UTC(), Content: t.Routes.Content(),
	})
}

// DecodeRoutes returns what the file holds, if it is of this installation, as
// it was written, and was confirmed no longer than maxAge ago.
func (i Identity) DecodeRoutes(file []byte, now time.Time, maxAge time.Duration) (Table, error) {
	var content routesContent
	if err := i.Key.open(Routes, file, &content); err != nil {
		return Table{}, err
	}
	if content.Installation != i.Installation {
		return Table{}, ErrInstallation
	}
	switch age := now.Sub(content.Confirmed); {
	case age > maxAge:
		return Table{}, fmt.Errorf("the snapshot is %s old, of at most %s", age.Round(time.Second), maxAge)
	case age < -clockSkew:
		return Table{}, fmt.Errorf("the snapshot is %s ahead of the clock", -age.Round(time.Second))
	}
	table, err := route.Restore(content.Content)
	if err != nil {
		return Table{}, err
	}
	return Table{Routes: table, Confirmed: content.Confirmed}, nil
}

// Pair is a certificate with its private key, and the CA by which this process
// and its peers know each other, all in PEM.
type Pair struct {
	CA    []byte `json:"ca"`
	Chain []byte `json:"chain"`
	Key   []byte `json:"key"`
}

type credentialsContent struct {
	Installation string `json:"installation"`
	Pair
}

// EncodeCredentials returns the file that holds p. It holds the private key
// unencrypted: a reader of the file can act as the ingress until the
// certificate expires.
func (i Identity) EncodeCredentials(p Pair) ([]byte, error) {
	return i.Key.seal(Credentials, credentialsContent{i.Installation, p})
}

// DecodeCredentials returns what the file holds, if it is of this installation
// and as it was written. Whether the certificate still is good is for the
// caller to see.
func (i Identity) DecodeCredentials(file []byte) (Pair, error) {
	var content credentialsContent
	if err := i.Key.open(Credentials, file, &content); err != nil {
		return Pair{}, err
	}
	if content.Installation != i.Installation {
		return Pair{}, ErrInstallation
	}
	return content.Pair, nil
}
