// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sharing finds the SharedServers whose secrets a bridge may have. It reads
// SharedServers and people itself, and trusts nobody's word of who is a member.
package sharing

import (
	"context"
	"crypto/sha256" //nolint:depguard // A fingerprint of revisions, which are no secrets.
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/internal/profile"
)

// The fields by which BridgePersons are found. The API server offers them as field
// selectors.
const (
	FieldUser      = "spec.user"
	FieldSubject   = "spec.subject"
	FieldLoginUser = "status.login.user"
)

// Reader reads the installation's own namespace.
type Reader interface {
	SharedServers(ctx context.Context) ([]v1alpha1.SharedServer, error)
	// Persons lists the BridgePersons whose field has the value.
	Persons(ctx context.Context, field, value string) ([]v1alpha1.BridgePerson, error)
}

// Grant lets a bridge have the secrets of a SharedServer.
type Grant struct {
	// Name is the SharedServer's, and Owner how the store knows it.
	Name  string
	Owner secretstore.Bridge
	// Origin is that of the server's URL now. Secrets that were set for another one are not
	// the bridge's.
	Origin string
	// Secrets are the names in spec.secrets.
	Secrets []string
	// Revision is that of the secrets in the SharedServer's status.
	Revision string
}

// Has reports whether the secret is one of the grant.
func (g Grant) Has(e secretstore.Entry) bool {
	return e.Origin != "" && e.Origin == g.Origin && slices.Contains(g.Secrets, e.Name)
}

// Held is the name under which the bridge's pod gets the secret.
func (g Grant) Held(secret string) string { return bridgeconfig.SharedSecret(g.Name, secret, g.Origin) }

// Grants returns what the bridge may have of SharedServers: those that profiles give it by
// status.effective, if all of its people have access and are members. until is when the
// first of their groups ends without a further login; zero is never.
func Grants(ctx context.Context, r Reader, b *v1alpha1.HostedBridge, now time.Time) (grants []Grant, until time.Time, err error) {
	names := Given(b)
	if len(names) == 0 {
		return nil, time.Time{}, nil
	}
	servers, err := r.SharedServers(ctx)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("list SharedServers: %w", err)
	}
	people, err := People(ctx, r, b)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("list BridgePersons: %w", err)
	}
	s := profile.SharingOf(b, servers, people, now)
	for _, name := range names {
		if server, reason := s.Find(name); reason == "" {
			grants = append(grants, Of(server))
		}
	}
	if len(grants) > 0 {
		_, until = profile.Groups(b, people, now)
	}
	return grants, until, nil
}

// Of returns the grant of a SharedServer's secrets.
func Of(s *v1alpha1.SharedServer) Grant {
	g := Grant{
		Name: s.Name, Owner: secretstore.Shared(s.Namespace, s.Name, s.UID), Origin: bridgeconfig.Origin(s.Spec.Server.Transport.URL), Revision: s.Status.Revision,
	}
	for _, name := range s.Spec.Secrets {
		g.Secrets = append(g.Secrets, string(name))
	}
	return g
}

// Given returns the SharedServers that profiles give the bridge, in order.
func Given(b *v1alpha1.HostedBridge) []string {
	if b.Status.Effective == nil {
		return nil
	}
	var names []string
	for _, s := range b.Status.Effective.Servers {
		if s.Shared != "" && s.Source != "" {
			names = append(names, s.Shared)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// People reads the people of a bridge: its subjects and those for whom a rule derives its user,
// each with all records of them, and the record of its user.
func People(ctx context.Context, r Reader, b *v1alpha1.HostedBridge) (*access.People, error) {
	var all []v1alpha1.BridgePerson
	add := func(field, value string) error {
		found, err := r.Persons(ctx, field, value)
		for _, p := range found {
			if !slices.ContainsFunc(all, func(o v1alpha1.BridgePerson) bool { return o.Name == p.Name }) {
				all = append(all, p)
			}
		}
		return err
	}
	for _, field := range []string{FieldUser, FieldLoginUser} {
		if err := add(field, string(b.User())); err != nil {
			return nil, err
		}
	}
	var subjects []string
	for _, p := range all {
		subjects = append(subjects, p.Spec.Subject)
	}
	if b.Spec.OAuth != nil {
		for _, s := range b.Spec.OAuth.Subjects {
			subjects = append(subjects, s.Subject)
		}
	}
	slices.Sort(subjects)
	for _, subject := range slices.Compact(subjects) {
		if subject == "" {
			continue // The record of a user.
		}
		if err := add(FieldSubject, subject); err != nil {
			return nil, err
		}
	}
	return access.NewPeople(all), nil
}

// Revision returns the revision of a bridge's own secrets and of those of SharedServers
// together. Without grants it is that of its own.
func Revision(own string, grants []Grant) string {
	if len(grants) == 0 {
		return own
	}
	digest := sha256.New()
	for _, g := range grants {
		_, _ = fmt.Fprintf(digest, "%q %q %q %q %q\n", g.Name, g.Owner.UID, g.Origin, g.Secrets, g.Revision)
	}
	return own + separator + hex.EncodeToString(digest.Sum(nil)[:8])
}

const separator = "."

// Own returns the part of a revision that is about the bridge's own secrets.
func Own(revision string) string {
	own, _, _ := strings.Cut(revision, separator)
	return own
}
