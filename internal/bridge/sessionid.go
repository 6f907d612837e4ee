// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"crypto/rand"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/config"
	"github.com/hostedbridge/hostedbridge/internal/bridge/token"
)

const (
	// sessionAge is how long a session can be restored after it began. Clients
	// keep an id while they run, and few run for weeks.
	sessionAge = 30 * 24 * time.Hour
	// maxEnded bounds the ended sessions that are remembered, at 16 bytes each.
	// They are a user's own: one that is forgotten can only be restored by the
	// client that ended it.
	maxEnded = 4096
)

// signing holds the keys by which clients prove that what they bring back came
// from this bridge.
type signing struct {
	owner string
	keys  atomic.Pointer[token.Keys]
	// process tells this process's parked calls from those of another with the
	// same keys.
	process token.Nonce
}

// newSigning returns the signing of a bridge whose keys are random until it is
// given some.
func newSigning(c config.Config) *signing {
	s := &signing{owner: c.UserID + "/" + c.BridgeUID}
	key := make([]byte, 32)
	// Reading from crypto/rand does not fail.
	_, _ = rand.Read(key)
	_, _ = rand.Read(s.process[:])
	s.keys.Store(token.NewKeys([][]byte{key}, s.owner))
	return s
}

// UseSessionKeys has the ids of sessions signed by the first of keys, and takes
// those that any of them signed, so that sessions outlive this process. Until
// the first call they do not. Each key has 32 bytes or more.
func (b *Bridge) UseSessionKeys(keys [][]byte) {
	if len(keys) > 0 {
		b.signing.keys.Store(token.NewKeys(keys, b.signing.owner))
	}
}

// name returns the id of a session that a client initializes, as the body of its
// request says it. What initializes no session, or not in a form that can be
// restored, gets a random one.
func (s *signing) name(body []byte, now time.Time) (id string, err error) {
	var m struct {
		Method string `json:"method"`
		Params struct {
			Version      string          `json:"protocolVersion"`
			Client       json.RawMessage `json:"clientInfo"`
			Capabilities json.RawMessage `json:"capabilities"`
		} `json:"params"`
	}
	_ = json.Unmarshal(body, &m) // What is no request initializes nothing.
	if m.Method != methodInitialize {
		return rand.Text(), nil
	}
	id, _, err = s.keys.Load().SignSession(token.Session{
		Version:      negotiated(m.Params.Version),
		Client:       m.Params.Client,
		Capabilities: m.Params.Capabilities,
		Issued:       now,
	}, rand.Reader)
	return id, err
}

// negotiated returns the version that the SDK agrees on with a legacy client.
func negotiated(version string) string {
	if version < firstModernVersion && slices.Contains(mcp.SupportedProtocolVersions(), version) {
		return version
	}
	return newestLegacyVersion
}

// open returns the session of an id that this bridge gave, in this process or
// before.
func (s *signing) open(id string, now time.Time) (token.Session, bool) {
	session, err := s.keys.Load().OpenSession(id, now, sessionAge)
	return session, err == nil
}

// stateOf returns the SDK's state of a session as it is after its
// initialization, and false where the SDK could not have taken it.
func stateOf(t token.Session) (*mcp.ServerSessionState, bool) {
	params := &mcp.InitializeParams{ProtocolVersion: t.Version}
	if len(t.Client) > 0 && json.Unmarshal(t.Client, &params.ClientInfo) != nil {
		return nil, false
	}
	var ok bool
	if params.Capabilities, ok = clientCapabilities(t.Capabilities); !ok {
		return nil, false
	}
	return &mcp.ServerSessionState{
		InitializeParams:          params,
		InitializedParams:         &mcp.InitializedParams{},
		NegotiatedProtocolVersion: t.Version,
	}, true
}

// clientCapabilities parses what a client says that it can do. The SDK itself
// parses roots apart: its own type cannot say that there are none.
func clientCapabilities(raw json.RawMessage) (*mcp.ClientCapabilities, bool) {
	caps := &mcp.ClientCapabilities{}
	var apart struct {
		Roots *mcp.RootCapabilities `json:"roots"`
	}
	if len(raw) > 0 && (json.Unmarshal(raw, caps) != nil || json.Unmarshal(raw, &apart) != nil) {
		return nil, false
	}
	caps.RootsV2 = apart.Roots
	return caps, true
}

// tombs remembers the last sessions that ended for good, so that none of them is
// restored.
type tombs struct {
	mu    sync.Mutex
	ended map[token.Nonce]bool
	order []token.Nonce // oldest first, from next on
	next  int
}

// bury ends a session for good.
func (t *tombs) bury(n token.Nonce) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended == nil {
		t.ended = map[token.Nonce]bool{}
	}
	if t.ended[n] {
		return
	}
	t.ended[n] = true
	if len(t.order) < maxEnded {
		t.order = append(t.order, n)
		return
	}
	delete(t.ended, t.order[t.next])
	t.order[t.next] = n
	t.next = (t.next + 1) % maxEnded
}

// hold reports whether the session has ended for good.
func (t *tombs) hold(n token.Nonce) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended[n]
}
