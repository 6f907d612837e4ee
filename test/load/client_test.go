// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build load || testenv

package load

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// call is one request of a user.
type call struct {
	of *tenant
	// at is whose path the call goes to, with the key of its own user, who is
	// meant where there is nobody.
	at   *tenant
	tool string
	// form is one of forms.
	form  string
	pause time.Duration
	// method is POST where it is empty.
	method string
	// endpoint is mcp where it is empty, and may have a query.
	endpoint string
	// session is that of the user where it is empty.
	session string
	modern  bool
	http2   bool
}

const (
	// id is that of every request of every user.
	id = 1
	// listening is where the transport of 2024-11-05 listens, and message where it
	// sends, in the session that everybody has.
	listening = "sse"
	message   = "sse?sessionid=" + session
)

// request returns the call as it goes over the wire.
func (c call) request(ctx context.Context, base string) (*http.Request, error) {
	method, endpoint, body := cmp.Or(c.method, http.MethodPost), cmp.Or(c.endpoint, "mcp"), ""
	if method == http.MethodPost {
		body = c.body()
	}
	r, err := http.NewRequestWithContext(ctx, method, base+"/u/"+cmp.Or(c.at, c.of).user+"/"+endpoint, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.GetBody = nil // So that nobody but us sends it again.
	r.Header.Set("Authorization", "Bearer "+c.of.key)
	r.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.modern {
		r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", "tools/call")
		r.Header.Set("Mcp-Name", c.tool)
		return r, nil
	}
	r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	r.Header.Set("Mcp-Session-Id", cmp.Or(c.session, c.of.session, session))
	return r, nil
}

func (c call) body() string {
	meta := ""
	if c.modern {
		meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"form":%q,"pause":%d,"mine":%q}%s}}`,
		id, c.tool, c.form, c.pause.Milliseconds(), c.of.canary, meta)
}

// reply is what came of a call.
type reply struct {
	status int
	header http.Header
	body   []byte
	// err says why there is no whole answer.
	err error
	// begun is whether there was a byte of one.
	begun bool
	// refused is whether nobody took the connection.
	refused bool
	from    *replica
}

// send makes the call once.
func (g *ingresses) send(ctx context.Context, c call) reply {
	var begun atomic.Bool
	trace := &httptrace.ClientTrace{GotFirstResponseByte: func() { begun.Store(true) }}
	from := g.pick()
	r, err := c.request(httptrace.WithClientTrace(ctx, trace), from.base())
	if err != nil {
		return reply{err: err}
	}
	n := 0
	if c.http2 {
		n = 1
	}
	res, err := from.clients[n].Do(r)
	if err != nil {
		return reply{err: err, begun: begun.Load(), refused: errors.Is(err, syscall.ECONNREFUSED), from: from}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return reply{status: res.StatusCode, header: res.Header, body: body, err: err, begun: true, from: from}
}

func (r *replica) base() string { return "http://" + r.Public }

// foreign reports whether there is a canary in the reply that is not the user's.
func (r reply) foreign(u *tenant) bool {
	for _, text := range [][]byte{r.body, fmt.Append(nil, r.header)} {
		if bytes.Count(text, []byte(canaryPrefix)) != bytes.Count(text, []byte(u.canary)) {
			return true
		}
	}
	return false
}

// answered reports whether the reply is the whole result of the user's tool
// call, or, of another method, what it asks for.
func (r reply) answered(c call) bool {
	switch {
	case r.err != nil || !bytes.Contains(r.body, []byte(c.of.canary)):
		return false
	case c.endpoint == message:
		return r.status == http.StatusAccepted
	case r.status != http.StatusOK:
		return false
	}
	return c.method != "" || bytes.Contains(r.body, []byte(`"result":`)) && bytes.Contains(r.body, fmt.Appendf(nil, `"id":%d,`, id))
}

// whole reports whether a GET stream came to the end that the bridge gave it.
func (r reply) whole() bool {
	return r.err == nil && bytes.Count(r.body, []byte("data: ")) == events
}
