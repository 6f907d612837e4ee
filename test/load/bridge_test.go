// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build load || testenv

package load

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/test/load/world"
	"github.com/hostedbridge/hostedbridge/test/must"
)

const (
	// patience ends what does not come.
	patience = 30 * time.Second
	// session is the id of every session of every user.
	session = "session-1"
	// once begins the names of tools that are called by one call alone.
	once = "once-"
	// events is how many events a GET stream of a fake bridge has, one each
	// eventEvery.
	events     = 20
	eventEvery = 50 * time.Millisecond
)

// listen starts a fake bridge of the tenant's on an address: a process that
// proves itself as a bridge does, speaks as one does, and puts its user's canary
// into everything.
func (i *installation) listen(t *testing.T, u *tenant, host string) {
	t.Helper()
	i.listenAs(t, u, u, host)
}

// listenAs is listen for a process that proves to be one tenant's bridge and
// serves another's data, which no bridge can.
func (i *installation) listenAs(t *testing.T, proves, serves *tenant, host string) {
	t.Helper()
	l := must.Value(net.Listen("tcp", net.JoinHostPort(host, world.BridgePort)))(t)
	server := &http.Server{Handler: serves, ReadHeaderTimeout: patience, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(tls.NewListener(l, &tls.Config{
			MinVersion: tls.VersionTLS13, ClientAuth: tls.RequireAnyClientCert, Certificates: []tls.Certificate{proves.certificate},
			VerifyConnection: pki.VerifyPeer(i.roots, pki.IngressURI(), x509.ExtKeyUsageClientAuth, time.Now),
		}))
	}()
	t.Cleanup(func() { _ = server.Close(); <-ended })
	proves.host, proves.server = host, server
}

// end is the end of the fake bridge, with its connections, as by kill -9.
func (u *tenant) end() { _ = u.server.Close() }

// ServeHTTP is the fake bridge.
func (u *tenant) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/health" {
		// The canary is where names go that all who may ask see.
		_, _ = fmt.Fprintf(w, `{"status":"healthy","tools":1,"servers":{%q:{"status":"healthy","tools":1}}}`, u.canary)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // The ingress has gone.
	}
	if own := "/u/" + u.user + "/"; r.URL.Path != own+"mcp" && r.URL.Path != own+listening || bytes.Count(body, []byte(canaryPrefix)) != bytes.Count(body, []byte(u.canary)) {
		u.strangers.Add(1)
	}
	switch {
	case r.Method == http.MethodGet:
		u.stream(w, r)
	case r.URL.RawQuery != "":
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, u.canary)
	default:
		u.answer(w, r, body)
	}
}

// toolCall is what a fake bridge reads of a call.
type toolCall struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string `json:"name"`
		Arguments struct {
			// Form is one of forms.
			Form string `json:"form"`
			// Pause is how long the tool takes, in milliseconds.
			Pause int `json:"pause"`
		} `json:"arguments"`
	} `json:"params"`
}

// forms are in what form an answer may come: with its length, in pieces, as
// events.
var forms = []string{"whole", "pieces", "events"}

// answer answers a tool call, with the trailer of a bridge unless the answer has
// a length.
func (u *tenant) answer(w http.ResponseWriter, r *http.Request, body []byte) {
	var m toolCall
	if err := json.Unmarshal(body, &m); err != nil || m.Method != "tools/call" {
		http.Error(w, u.canary, http.StatusBadRequest)
		return
	}
	if m.Params.Arguments.Pause > 0 {
		select {
		case <-r.Context().Done():
			return
		case <-time.After(time.Duration(m.Params.Arguments.Pause) * time.Millisecond):
		}
	}
	if strings.HasPrefix(m.Params.Name, once) {
		count, _ := u.ran.LoadOrStore(m.Params.Name, new(atomic.Int64))
		count.(*atomic.Int64).Add(1)
	}
	result := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`, m.ID, u.canary)
	h := w.Header()
	h.Set("Mcp-Session-Id", session)
	h.Set("Content-Type", "application/json")
	switch m.Params.Arguments.Form {
	case "whole":
		h.Set("Content-Length", strconv.Itoa(len(result)))
		_, _ = io.WriteString(w, result)
		return
	case "pieces":
		half := len(result) / 2
		_, _ = io.WriteString(w, result[:half])
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, result[half:])
	default:
		h.Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"progress\":1,\"message\":%q}}\n\n", u.canary)
		_ = http.NewResponseController(w).Flush()
		_, _ = fmt.Fprintf(w, "event: message\ndata: %s\n\n", result)
	}
	_ = http.NewResponseController(w).Flush()
	h.Set(http.TrailerPrefix+audit.TrailerName, audit.EncodeTrailer([]audit.Call{{
		Server: "fake", Tool: m.Params.Name, Method: m.Method, Status: audit.Success, BytesIn: int64(len(body)), BytesOut: int64(len(result)),
	}}))
}

// stream answers a GET with events until there were enough.
func (u *tenant) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	tick := time.NewTicker(eventEvery)
	defer tick.Stop()
	for n := range events {
		_, err := fmt.Fprintf(w, "id: %d\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":%q}}\n\n", n, u.canary)
		if err != nil || http.NewResponseController(w).Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}
