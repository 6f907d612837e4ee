// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
)

// SecretOpener opens the sealed secrets of a HostedBridge.
type SecretOpener interface {
	secretstore.SecretLister
	Open(ctx context.Context, b secretstore.Bridge) (secretstore.Opened, error)
}

// Belonging is a Secret of a HostedBridge, without its data.
type Belonging struct {
	Namespace, Name string
	// Owner and OwnerUID identify the HostedBridge.
	Owner    string
	OwnerUID types.UID
}

// Installation is the installation that is verified.
type Installation interface {
	secretstore.BridgeLister
	// Belongings lists the Secrets that belong to HostedBridges of a namespace,
	// whether or not the HostedBridge exists. An empty namespace means all.
	Belongings(ctx context.Context, namespace string) ([]Belonging, error)
	// Secret returns one Secret; its error is the API server's.
	Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error)
	// BridgeUID returns the UID of the HostedBridge, empty if it does not
	// exist.
	BridgeUID(ctx context.Context, namespace, name string) (types.UID, error)
}

// Verification opens every sealed secret and keeps no value.
type Verification struct {
	Installation Installation
	Store        SecretOpener
	// Namespace and Name select HostedBridges; empty ones select all.
	Namespace, Name string
}

// VerificationReport is the result of a verification. It names secrets and says
// nothing else about them.
type VerificationReport struct {
	Bridges int `json:"bridges"`
	// Shared is how many of these are SharedServers.
	Shared  int `json:"shared,omitempty"`
	Secrets int `json:"secrets"`
	// Keys counts the secrets by the key under which they are sealed.
	Keys map[string]int `json:"keys"`
	// Unreadable are the secrets that do not open.
	Unreadable []SecretRef `json:"unreadable"`
	// SaltMissing are HostedBridges with secrets and without their salt: none
	// of those secrets will ever open.
	SaltMissing []Ref `json:"saltMissing"`
	// NotOwned are HostedBridges whose Secrets belong to something else.
	NotOwned []Ref `json:"notOwned"`
	// Orphans are Secrets of deleted HostedBridges.
	Orphans []Ref `json:"orphans"`

	census secretstore.KeyUsage
}

// OK reports whether everything opens.
func (r *VerificationReport) OK() bool {
	return len(r.Unreadable) == 0 && len(r.SaltMissing) == 0 && len(r.NotOwned) == 0
}

// String returns the counts, to be printed.
func (r *VerificationReport) String() string {
	owners := fmt.Sprintf("%d HostedBridges", r.Bridges-r.Shared)
	if r.Shared > 0 {
		owners += fmt.Sprintf(" and %d SharedServers", r.Shared)
	}
	return fmt.Sprintf("%d secrets of %s: %s", r.Secrets, owners, r.census)
}

// finding is the result for one HostedBridge.
type finding struct {
	census      secretstore.KeyUsage
	unreadable  []string
	saltMissing bool
	notOwned    bool
}

// Run verifies. An error means that the result is incomplete.
func (v *Verification) Run(ctx context.Context) (*VerificationReport, error) {
	bridges, err := v.bridges(ctx)
	if err != nil {
		return nil, err
	}
	findings := make([]finding, len(bridges))
	err = secretstore.ForEach(ctx, len(bridges), func(ctx context.Context, i int) error {
		var err error
		findings[i], err = v.examine(ctx, bridges[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	report := collect(bridges, findings)
	report.Orphans, err = v.orphans(ctx, bridges)
	return report, err
}

// bridges lists the selected HostedBridges. One that is selected by name must
// exist.
func (v *Verification) bridges(ctx context.Context) ([]secretstore.Bridge, error) {
	if v.Name == "" {
		bridges, err := v.Installation.Bridges(ctx, v.Namespace)
		if err != nil {
			return nil, fmt.Errorf("list HostedBridges: %w", err)
		}
		return bridges, nil
	}
	uid, err := v.Installation.BridgeUID(ctx, v.Namespace, v.Name)
	if err != nil {
		return nil, fmt.Errorf("get HostedBridge %s/%s: %w", v.Namespace, v.Name, err)
	}
	if uid == "" {
		return nil, fmt.Errorf("there is no HostedBridge %s/%s", v.Namespace, v.Name)
	}
	return []secretstore.Bridge{{Namespace: v.Namespace, Name: v.Name, UID: uid}}, nil
}

func (v *Verification) examine(ctx context.Context, b secretstore.Bridge) (finding, error) {
	listing, err := v.Store.List(ctx, b)
	switch {
	case errors.Is(err, secretstore.ErrNotReady):
		return finding{}, nil // An earlier HostedBridge's: one of the orphans.
	case errors.Is(err, secretstore.ErrNotOwned):
		return finding{notOwned: true}, nil
	case err != nil || len(listing.Entries) == 0:
		return finding{}, err
	}
	f := finding{census: secretstore.KeyUsageOf(listing)}
	opened, err := v.Store.Open(ctx, b)
	defer opened.Wipe()
	if errors.Is(err, secretstore.ErrNotReady) || errors.Is(err, secretstore.ErrNotOwned) {
		opened = secretstore.Opened{Unreadable: names(listing)} // The salt is not this HostedBridge's.
	} else if err != nil {
		return finding{}, err
	}
	f.unreadable = opened.Unreadable
	// If nothing opens, the salt may be missing.
	if len(opened.Unreadable) > 0 && len(opened.Values) == 0 {
		f.saltMissing, err = v.saltMissing(ctx, b)
		return f, err
	}
	return f, nil
}

func names(l secretstore.Listing) []string {
	names := make([]string, 0, len(l.Entries))
	for _, entry := range l.Entries {
		names = append(names, entry.Name)
	}
	return names
}

func (v *Verification) saltMissing(ctx context.Context, b secretstore.Bridge) (bool, error) {
	_, err := v.Installation.Secret(ctx, b.Namespace, b.SaltName())
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the salt of HostedBridge %s/%s: %w", b.Namespace, b.Name, err)
	}
	return false, nil
}

func collect(bridges []secretstore.Bridge, findings []finding) *VerificationReport {
	r := &VerificationReport{
		Bridges: len(bridges), census: secretstore.KeyUsage{},
		Unreadable: []SecretRef{}, SaltMissing: []Ref{}, NotOwned: []Ref{}, Orphans: []Ref{},
	}
	for i, f := range findings {
		at := refOf(bridges[i])
		if _, shared := bridges[i].SharedName(); shared {
			r.Shared++
		}
		r.census.Add(f.census)
		for _, name := range f.unreadable {
			r.Unreadable = append(r.Unreadable, SecretRef{at, name})
		}
		if f.saltMissing {
			r.SaltMissing = append(r.SaltMissing, at)
		}
		if f.notOwned {
			r.NotOwned = append(r.NotOwned, at)
		}
	}
	r.Secrets, r.Keys = r.census.Total(), r.census.ByName()
	return r
}

// orphans lists the Secrets of deleted HostedBridges. Kubernetes removes them,
// usually within seconds; a salt that stays keeps secrets readable that were to
// be shredded.
func (v *Verification) orphans(ctx context.Context, bridges []secretstore.Bridge) ([]Ref, error) {
	all, err := v.Installation.Belongings(ctx, v.Namespace)
	if err != nil {
		return nil, fmt.Errorf("list Secrets: %w", err)
	}
	alive := make(map[types.UID]bool, len(bridges))
	for _, b := range bridges {
		alive[b.UID] = true
	}
	orphans := []Ref{}
	for _, b := range all {
		if alive[b.OwnerUID] || v.Name != "" && b.Owner != v.Name {
			continue
		}
		// It may have been created since the HostedBridges were listed.
		uid, err := v.Installation.BridgeUID(ctx, b.Namespace, b.Owner)
		if err != nil {
			return nil, fmt.Errorf("get HostedBridge %s/%s: %w", b.Namespace, b.Owner, err)
		}
		if uid != b.OwnerUID {
			orphans = append(orphans, Ref{b.Namespace, b.Name})
		}
	}
	slices.SortFunc(orphans, Ref.compare)
	return orphans, nil
}
