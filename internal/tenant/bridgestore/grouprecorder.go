// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestore

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

const (
	// maxPending is how many tokens may wait until their groups are recorded. The groups of
	// more are recorded when the tokens are verified again, a minute later.
	maxPending = 1024
	// maxRecorded is how many people are known whose groups were recorded, of some 200 bytes
	// each.
	maxRecorded = 1 << 14
	// recordEvery is after which time the same groups of a person are recorded again:
	// meanwhile a BridgeProfile may name another one of them.
	recordEvery = 5 * time.Minute
)

// tokenVerifier checks an access token for a resource: oauth.Verifier.
type tokenVerifier interface {
	Verify(ctx context.Context, token, resource string, now time.Time) (oauth.Token, error)
}

// GroupRecorder verifies access tokens, and records the groups that they name. A caller does
// not wait for the record.
type GroupRecorder struct {
	tokens  tokenVerifier
	persons *Persons
	log     *slog.Logger
	pending chan recordedGroups
}

// recordedGroups are the groups of a token, and when it was verified.
type recordedGroups struct {
	oauth.Token

	at time.Time
}

// NewGroupRecorder returns a GroupRecorder, which records nothing before it runs.
func NewGroupRecorder(tokens tokenVerifier, persons *Persons, log *slog.Logger) *GroupRecorder {
	return &GroupRecorder{tokens: tokens, persons: persons, log: log, pending: make(chan recordedGroups, maxPending)}
}

// Verify returns the content of a token, as oauth.Verifier does.
func (r *GroupRecorder) Verify(ctx context.Context, token, resource string, now time.Time) (oauth.Token, error) {
	t, err := r.tokens.Verify(ctx, token, resource, now)
	if err == nil && t.Groups != nil {
		select {
		case r.pending <- recordedGroups{t, now}:
		default:
		}
	}
	return t, err
}

// Run records groups until ctx ends.
func (r *GroupRecorder) Run(ctx context.Context) error {
	recorded := map[oauth.SubjectKey]recordedGroups{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case next := <-r.pending:
			if last, ok := recorded[next.Subject]; ok && next.at.Sub(last.at) < recordEvery && next.User == last.User && slices.Equal(next.Groups, last.Groups) {
				continue
			}
			if err := r.persons.Record(ctx, NamedGroups{next.Issuer, next.Person, next.User, next.Groups, next.Issued}); err != nil {
				r.log.WarnContext(ctx, "the groups of a person are not known", slog.String("issuer", next.Issuer),
					slog.String("login", next.Subject.String()), slog.Any("error", err))
				continue
			}
			if len(recorded) >= maxRecorded {
				clear(recorded)
			}
			recorded[next.Subject] = next
		}
	}
}
