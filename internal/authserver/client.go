// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
)

// registeredPrefix begins the ids of clients that registered themselves.
const registeredPrefix = "reg-"

// registeredForm is their form.
var registeredForm = regexp.MustCompile(`^` + registeredPrefix + `[A-Za-z0-9_-]{43}$`)

// isDocument reports whether a client's id is the URL of a document.
func isDocument(id string) bool { return strings.HasPrefix(id, schemeHTTPS+"://") }

// registration is what is stored of a client that registered itself.
type registration struct {
	flow.Client
	// Renewed is when its end was last put off, zero while no person has let it in.
	Renewed time.Time `json:"renewed,omitzero"`
}

// known is a client, and how.
type known struct {
	flow.Client
	// Configured is whether an administrator configured it.
	Configured bool
}

// errNoClient is that there is no client of an id, which who asks is at fault for.
var errNoClient = errors.New("no such client")

// client returns the client of an id. Its errors are errNoClient, flow.ErrClient for
// a document that whoever named it has to look into, and that the store or what
// reads documents is away.
func (s *Server) client(ctx context.Context, id string) (known, error) {
	if c, ok := s.clients[id]; ok {
		return known{Client: c, Configured: true}, nil
	}
	switch {
	case isDocument(id) && s.Documents != nil:
		c, err := s.Documents.Client(ctx, id)
		if err != nil {
			return known{}, fmt.Errorf("read the client's document: %w", err)
		}
		if c.ID != id {
			return known{}, fmt.Errorf("%w: the document is of another one", flow.ErrClient)
		}
		return known{Client: c}, nil
	case registeredForm.MatchString(id) && s.Registration.Enabled:
		r, _, err := s.registered(ctx, id)
		return known{Client: r.Client}, err
	default:
		return known{}, errNoClient
	}
}

// registered returns a client that registered itself, with what is stored of it.
func (s *Server) registered(ctx context.Context, id string) (r registration, value []byte, err error) {
	value, err = s.Store.Get(ctx, flow.KindClient, id)
	if errors.Is(err, flow.ErrNotFound) {
		return registration{}, nil, errNoClient
	}
	if err != nil {
		return registration{}, nil, fmt.Errorf("read client: %w", err)
	}
	if err := json.Unmarshal(value, &r); err != nil {
		return registration{}, nil, fmt.Errorf("decode client: %w", err)
	}
	return r, value, nil
}

// stillClient returns errNoClient where a client is one no more. Documents are not
// read again: who has them away for a moment would have its people log in anew.
func (s *Server) stillClient(ctx context.Context, id string) error {
	if isDocument(id) && s.Documents != nil {
		return nil
	}
	_, err := s.client(ctx, id)
	return err
}

const (
	// unusedLife is for how long a client is known that no person has let in yet.
	// Anybody can register as many as there may be; this is after what time there is
	// room for others again.
	unusedLife = 4 * time.Hour
	// renewals is how often the end of a client's registration is put off in its
	// lifetime: not at each use, which would be a write each time.
	renewals = 30
)

// useClient is stillClient for a client that a person lets in, or has let in. Only
// such use puts the end of a registration off: all else anybody can do.
func (s *Server) useClient(ctx context.Context, id string) error {
	if _, configured := s.clients[id]; configured || !registeredForm.MatchString(id) || !s.Registration.Enabled {
		return s.stillClient(ctx, id)
	}
	r, value, err := s.registered(ctx, id)
	if err != nil {
		return err
	}
	now := s.Now()
	if now.Sub(r.Renewed) < s.Registration.Lifetime/renewals {
		return nil
	}
	r.Renewed = now
	err = s.Store.Swap(ctx, flow.KindClient, id, value, encode(r), now.Add(s.Registration.Lifetime))
	if err != nil && !errors.Is(err, flow.ErrNotFound) { // Another request may have done so.
		return fmt.Errorf("renew client: %w", err)
	}
	return nil
}

// shownName is what a client is called on pages.
func (c known) shownName() string {
	return cmp.Or(flow.ShownName(c.Name), flow.ShownName(c.ID))
}

// documentHost is the host that vouches for a client, empty for none.
func (c known) documentHost() string {
	u, err := url.Parse(c.ID)
	if !c.Document || err != nil {
		return ""
	}
	return u.Host
}
