// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package news

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
	"github.com/hostedbridge/hostedbridge/internal/users/requests"
)

// shared is what two replicas have in common. Before a write, other is called once.
type shared struct {
	state state
	asked error

	kept   v1alpha1.Visits
	writes int
	other  func()
	fails  error
}

func (s *shared) Servers(context.Context, route.Backend) (selfservice.Servers, error) {
	return selfservice.Servers{Servers: s.state.servers}, nil
}

func (s *shared) ToolNames(context.Context, route.Backend) (selfservice.ToolNames, error) {
	return s.state.tools, nil
}

func (s *shared) List(context.Context, route.Backend) (requests.List, error) {
	return requests.List{}, s.asked
}

func (s *shared) Read(context.Context, route.Backend) (Kept, error) {
	return Kept{Visits: new(s.kept), Version: string(rune('a' + s.writes))}, nil
}

func (s *shared) Write(_ context.Context, _ route.Backend, before Kept, visits v1alpha1.Visits) error {
	if other := s.other; other != nil {
		s.other = nil
		other()
	}
	if before.Version != string(rune('a'+s.writes)) {
		return ErrChanged
	}
	if s.fails != nil {
		return s.fails
	}
	s.kept, s.writes = visits, s.writes+1
	return nil
}

// replica is one that has this state.
func (s *shared) replica(now time.Time) *News {
	return &News{Bridges: s, Requests: s, Store: s, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}
}

func sharedAfter(before, after state) *shared {
	return &shared{state: after, kept: visitOf(nil, before, start)}
}

func TestTwoReplicasTellTheSame(t *testing.T) {
	for name, other := range map[string]func(*shared, *testing.T){
		"the other notes the visit first": func(s *shared, t *testing.T) {
			if l, err := s.replica(start.Add(2*time.Hour)).Visit(t.Context(), route.Backend{}); err != nil || len(l.News) != 2 {
				t.Errorf("the other: %+v, %v", l, err)
			}
		},
		"something else is written": func(s *shared, _ *testing.T) { s.writes++ },
	} {
		t.Run(name, func(t *testing.T) {
			s := sharedAfter(healthy("a"), healthy("b"))
			s.other = func() { other(s, t) }
			l, err := s.replica(start.Add(2*time.Hour)).Visit(t.Context(), route.Backend{})
			if err != nil || len(l.News) != 2 || !l.Since.Equal(start) || !s.kept.Before.Time.Time.Equal(start) {
				t.Errorf("%+v, %v; %+v is kept", l, err, s.kept)
			}
			if l, err := s.replica(start.Add(4*time.Hour)).Visit(t.Context(), route.Backend{}); err != nil || len(l.News) != 0 {
				t.Errorf("the next visit: %+v, %v", l, err)
			}
		})
	}
}

func TestAVisitIsNotedOnlyIfEverythingWasSeen(t *testing.T) {
	s := sharedAfter(healthy("a"), healthy("b"))
	n := s.replica(start.Add(2 * time.Hour))
	s.asked = errors.New("no route to host")
	if l, err := n.Visit(t.Context(), route.Backend{}); err != nil || !l.Partial || len(l.News) != 2 || s.writes != 0 {
		t.Errorf("without the requests: %+v, %v, %d writes", l, err, s.writes)
	}
	s.asked, s.fails = nil, errors.New("no route to host")
	if l, err := n.Visit(t.Context(), route.Backend{}); err != nil || len(l.News) != 2 || s.writes != 0 {
		t.Errorf("a visit that cannot be noted: %+v, %v, %d writes", l, err, s.writes)
	}
	s.fails = nil
	if l, err := n.List(t.Context(), route.Backend{}); err != nil || len(l.News) != 2 || s.writes != 0 {
		t.Errorf("who only looks: %+v, %v, %d writes", l, err, s.writes)
	}
	if l, err := n.Visit(t.Context(), route.Backend{}); err != nil || len(l.News) != 2 || s.writes != 1 {
		t.Errorf("then: %+v, %v, %d writes", l, err, s.writes)
	}
}

// gone is a store of a HostedBridge that was deleted.
type gone struct{ Store }

func (gone) Read(context.Context, route.Backend) (Kept, error) { return Kept{}, keys.ErrNoBridge }

func TestABridgeThatIsGoneHasNoNews(t *testing.T) {
	n := sharedAfter(state{}, state{}).replica(start)
	n.Store = gone{}
	if _, err := n.Visit(t.Context(), route.Backend{}); !errors.Is(err, httpapi.NotFound) {
		t.Error(err)
	}
}
