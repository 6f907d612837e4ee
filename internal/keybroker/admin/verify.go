// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/desired"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/store"
)

// SecretOpener opens what is sealed for a HostedBridge.
type SecretOpener interface {
	SecretLister
	Open(ctx context.Context, b store.Bridge) (store.Opened, error)
}

// Belonging is a Secret of a HostedBridge, without its data.
type Belonging struct {
	Namespace, Name string
	// Owner and OwnerUID are the HostedBridge's.
	Owner    string
	OwnerUID types.UID
}

// Installation is what is verified.
type Installation interface {
	BridgeLister
	// Belongings lists the Secrets that belong to HostedBridges of a namespace,
	// of all where it is empty, whether or not the HostedBridge exists.
	Belongings(ctx context.Context, namespace string) ([]Belonging, error)
	// Secret returns one Secret; its error is the API server's.
	Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error)
	// BridgeUID returns the UID of the HostedBridge, empty if there is none.
	BridgeUID(ctx context.Context, namespace, name string) (types.UID, error)
}

// Verification opens everything that is sealed and keeps none of it.
type Verification struct {
	Installation Installation
	Store        SecretOpener
	// Namespace and Name select HostedBridges; empty ones select all.
	Namespace, Name string
}

// VerificationReport is what a verification found. It names secrets and never
// says more of them.
type VerificationReport struct {
	Bridges int `json:"bridges"`
	Secrets int `json:"secrets"`
	// Keys counts the secrets by the key under which they are sealed.
	Keys map[string]int `json:"keys"`
	// Unreadable are the secrets that do not open.
	Unreadable []SecretRef `json:"unreadable"`
	// SaltMissing are HostedBridges with secrets and without their salt: none
	// of those opens, and none ever will.
	SaltMissing []Ref `json:"saltMissing"`
	// NotOwned are HostedBridges whose Secrets belong to something else.
	NotOwned []Ref `json:"notOwned"`
	// Orphans are Secrets of HostedBridges that are gone.
	Orphans []Ref `json:"orphans"`

	census Census
}

// OK says whether everything opens.
func (r *VerificationReport) OK() bool {
	return len(r.Unreadable) == 0 && len(r.SaltMissing) == 0 && len(r.NotOwned) == 0
}

// String returns the counts for people.
func (r *VerificationReport) String() string {
	return fmt.Sprintf("%d secrets of %d HostedBridges: %s", r.Secrets, r.Bridges, r.census)
}

// finding is what was found of one HostedBridge.
type finding struct {
	census      Census
	unreadable  []string
	saltMissing bool
	notOwned    bool
}

// Run verifies. An error says that it could not be seen whether everything
// opens.
func (v *Verification) Run(ctx context.Context) (*VerificationReport, error) {
	bridges, err := v.bridges(ctx)
	if err != nil {
		return nil, err
	}
	findings := make([]finding, len(bridges))
	err = each(ctx, len(bridges), func(ctx context.Context, i int) error {
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

// bridges lists what was asked for. One that was named must exist.
func (v *Verification) bridges(ctx context.Context) ([]store.Bridge, error) {
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
	return []store.Bridge{{Namespace: v.Namespace, Name: v.Name, UID: uid}}, nil
}

func (v *Verification) examine(ctx context.Context, b store.Bridge) (finding, error) {
	listing, err := v.Store.List(ctx, b)
	switch {
	case errors.Is(err, store.ErrNotReady):
		return finding{}, nil // An earlier HostedBridge's: one of the orphans.
	case errors.Is(err, store.ErrNotOwned):
		return finding{notOwned: true}, nil
	case err != nil || len(listing.Entries) == 0:
		return finding{}, err
	}
	f := finding{census: censusOf(listing)}
	opened, err := v.Store.Open(ctx, b)
	defer opened.Wipe()
	if errors.Is(err, store.ErrNotReady) || errors.Is(err, store.ErrNotOwned) {
		opened = store.Opened{Unreadable: names(listing)} // The salt is not this HostedBridge's.
	} else if err != nil {
		return finding{}, err
	}
	f.unreadable = opened.Unreadable
	// Where nothing opens, it may be for want of the salt.
	if len(opened.Unreadable) > 0 && len(opened.Values) == 0 {
		f.saltMissing, err = v.saltMissing(ctx, b)
		return f, err
	}
	return f, nil
}

func names(l store.Listing) []string {
	names := make([]string, 0, len(l.Entries))
	for _, entry := range l.Entries {
		names = append(names, entry.Name)
	}
	return names
}

func (v *Verification) saltMissing(ctx context.Context, b store.Bridge) (bool, error) {
	_, err := v.Installation.Secret(ctx, b.Namespace, desired.Salt(b.Name))
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the salt of HostedBridge %s/%s: %w", b.Namespace, b.Name, err)
	}
	return false, nil
}

func collect(bridges []store.Bridge, findings []finding) *VerificationReport {
	r := &VerificationReport{
		Bridges: len(bridges), census: Census{},
		Unreadable: []SecretRef{}, SaltMissing: []Ref{}, NotOwned: []Ref{}, Orphans: []Ref{},
	}
	for i, f := range findings {
		at := refOf(bridges[i])
		r.census.add(f.census)
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
	r.Secrets, r.Keys = r.census.total(), r.census.keys()
	return r
}

// orphans lists the Secrets whose HostedBridge is gone. Kubernetes removes
// them, usually within seconds; a salt that stays keeps alive what was to be
// shredded.
func (v *Verification) orphans(ctx context.Context, bridges []store.Bridge) ([]Ref, error) {
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
		// It may have been made since the HostedBridges were listed.
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
