// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"crypto/rand"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/token"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

const (
	// SessionAge is how long after its start a session can be restored. Clients keep an id while
	// they run, and few clients run for weeks.
	SessionAge = 30 * 24 * time.Hour
	// maxEnded limits the remembered ended sessions, at 16 bytes each. They all belong to one
	// user: if the bridge forgets one, only the client that ended it can restore it.
	maxEnded = 4096
)

// Signing holds the keys that sign ids and states, so that the bridge accepts only its own from
// clients.
type Signing struct {
	owner string
	keys  atomic.Pointer[token.Keys]
	// process distinguishes the suspended calls of this process from those of another process with
	// the same keys.
	process token.Nonce
}

// NewSigning returns the signing of a bridge. Its keys are random until Use is called.
func NewSigning(c bridgeconfig.Config) *Signing {
	s := &Signing{owner: c.UserID + "/" + c.BridgeUID}
	key := make([]byte, 32)
	// Reading from crypto/rand does not fail.
	_, _ = rand.Read(key)
	_, _ = rand.Read(s.process[:])
	s.keys.Store(token.NewKeys([][]byte{key}, s.owner))
	return s
}

// IssueID returns the id of a session that a client initializes with this request body. If the
// body does not initialize a session, or the session cannot be restored, the id is random.
func (s *Signing) IssueID(body []byte, now time.Time) (id string, err error) {
	var m struct {
		Method string `json:"method"`
		Params struct {
			Version      string          `json:"protocolVersion"`
			Client       json.RawMessage `json:"clientInfo"`
			Capabilities json.RawMessage `json:"capabilities"`
		} `json:"params"`
	}
	_ = json.Unmarshal(body, &m) // A body that is not a request initializes nothing.
	if m.Method != methods.Initialize {
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

// negotiated returns the version of a session whose client asked for another one.
func negotiated(version string) string {
	if version < message.FirstModernVersion && slices.Contains(mcp.SupportedProtocolVersions(), version) {
		return version
	}
	return message.NewestLegacyVersion
}

// OpenID returns the session of an id that this bridge issued, in this process or an earlier one.
func (s *Signing) OpenID(id string, now time.Time) (token.Session, bool) {
	session, err := s.keys.Load().OpenSession(id, now, SessionAge)
	return session, err == nil
}

// paramsOf returns the parameters of a session's first request, and false if it could not begin so.
func paramsOf(t token.Session) (*mcp.InitializeParams, bool) {
	params := &mcp.InitializeParams{ProtocolVersion: t.Version}
	if len(t.Client) > 0 && json.Unmarshal(t.Client, &params.ClientInfo) != nil {
		return nil, false
	}
	var ok bool
	if params.Capabilities, ok = message.ParseClientCapabilities(t.Capabilities); !ok {
		return nil, false
	}
	return params, true
}

// endedIDs remembers the last sessions that were ended for good, so that they are not restored.
type endedIDs struct {
	mu    sync.Mutex
	ended map[token.Nonce]bool
	order []token.Nonce // oldest first, starting at next
	next  int
}

// add records that a session has ended for good.
func (t *endedIDs) add(n token.Nonce) {
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

// has reports whether the session has ended for good.
func (t *endedIDs) has(n token.Nonce) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended[n]
}

// SignState signs the state of a suspended call.
func (s *Signing) SignState(state token.State) string { return s.keys.Load().SignState(state) }

// OpenState returns the state if this bridge signed it.
func (s *Signing) OpenState(text string) (token.State, error) { return s.keys.Load().OpenState(text) }

// ProcessID distinguishes the calls of this process from those of another process with the same
// keys.
func (s *Signing) ProcessID() token.Nonce { return s.process }

// Use replaces the keys. The first key signs, and all keys verify.
func (s *Signing) Use(keys [][]byte) { s.keys.Store(token.NewKeys(keys, s.owner)) }
