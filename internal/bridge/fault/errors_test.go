// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/hostedbridge/hostedbridge/internal/bridge/egress"
	"github.com/hostedbridge/hostedbridge/internal/bridge/oauth"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
)

// TestWhatAnErrorSays to a client, to a health report and about whether its request reached the server. The
// types of errors decide, since a server can send any text, and no text has an address.
func TestWhatAnErrorSays(t *testing.T) {
	t.Parallel()
	dial := func(err error) error {
		return &url.Error{Op: "Post", URL: "https://10.0.0.1/c4n4ry", Err: &net.OpError{Op: "dial", Net: "tcp", Err: err}}
	}
	sdk := func(code int64, text string) error {
		return fmt.Errorf("calling: %w", &jsonrpc.Error{Code: code, Message: text})
	}
	login := &oauth.Error{Login: true}
	const failed, away, down = `server "one" failed: `, `server "one" is not available: `, `{"code":"upstream_unavailable","server":"one"}`
	const upstream = `{"code":"upstream_error","server":"one"}`
	for name, tt := range map[string]struct {
		err                  error
		delivery             Delivery
		code                 int64
		message, data, class string
	}{
		"a server's error":             {sdk(-32000, "network timeout"), Reached, -32000, "network timeout", "", health.ReasonFailed},
		"one with the code of the SDK": {sdk(-32005, "no"), Reached, -32005, "no", "", health.ReasonFailed},
		"one with the text of the SDK": {sdk(-32000, "rejected by transport"), Reached, -32000, "rejected by transport", "", health.ReasonFailed},
		"a lost session":               {client.ErrSessionMissing, Missed, -32603, `server "one" is not available`, down, health.ReasonFailed},
		"a lost connection":            {client.ErrClosed, Missed, -32603, `server "one" is not available`, down, health.ReasonFailed},
		"a closed port":                {dial(syscall.ECONNREFUSED), Missed, -32603, `server "one" is not available`, down, health.ReasonConnectionRefused},
		"an unknown name":              {dial(&net.DNSError{}), Missed, -32603, `server "one" is not available`, down, health.ReasonNameNotResolved},
		"a private address":            {dial(egress.ErrNotPublic), Missed, -32603, away + egress.ErrNotPublic.Error(), down, health.ReasonAddressRefused},
		"a plain address":              {egress.ErrPlain, Undecided, -32603, away + egress.ErrPlain.Error(), down, health.ReasonAddressRefused},
		"a plain authority":            {oauth.ErrPlain, Undecided, -32603, away + oauth.ErrPlain.Error(), down, health.ReasonAddressRefused},
		"a broken answer":              {&net.OpError{Op: "read", Net: "tcp", Addr: &net.TCPAddr{Port: 99}, Err: syscall.ECONNRESET}, Missed, -32603, failed + "read: connection reset by peer", upstream, health.ReasonFailed},
		"a body that ended":            {io.ErrUnexpectedEOF, Missed, -32603, failed + "unexpected EOF", upstream, health.ReasonFailed},
		"a text with an address":       {errors.New("at https://10.0.0.1/c4n4ry"), Undecided, -32603, failed + "the server could not be reached", upstream, health.ReasonFailed},
		"silence":                      {context.DeadlineExceeded, Missed, -32603, failed + "the server did not answer in time", upstream, health.ReasonTimedOut},
		"the configured time":          {ErrTimeout, Missed, -32603, failed + ErrTimeout.Error(), upstream, health.ReasonFailed},
		"other secrets":                {ErrStale, Undecided, -32603, failed + ErrStale.Error(), upstream, health.ReasonFailed},
		"a cancelled request":          {context.Canceled, Undecided, -32603, "the request was cancelled", "", health.ReasonFailed},
		"no login":                     {login, Undecided, -32603, `server "one" is not available`, down, health.ReasonLoginRequired},
		"no login, with a page": {&Guarded{Err: login, ConnectURL: "https://page.example"}, Undecided, -32603,
			`server "one" is not available; the user has to log in at https://page.example`, `{"code":"upstream_unavailable","connectURL":"https://page.example","server":"one"}`, health.ReasonLoginRequired},
		"out of service":           {&Unavailable{Server: "one", Reason: "withdrawn"}, Undecided, -32603, away + "withdrawn", down, health.ReasonFailed},
		"not connected":            {&Unavailable{Server: "one"}, Missed, -32603, `server "one" is not available`, down, health.ReasonFailed},
		"a refused token":          {&client.StatusError{Status: 401}, Undecided, -32603, failed + "the server answered with the HTTP status 401 Unauthorized", upstream, health.ReasonCredentialsRefused},
		"a right that is missing":  {&client.StatusError{Status: 403}, Undecided, -32603, failed + "the server answered with the HTTP status 403 Forbidden", upstream, health.ReasonCredentialsRefused},
		"one that speaks of it":    {errors.New("Forbidden fruit"), Undecided, -32603, failed + "Forbidden fruit", upstream, health.ReasonFailed},
		"a server that starts":     {&Starting{Server: "one", For: 90 * time.Second}, Undecided, -32603, `server "one" is starting, 90 s so far: try again in 5 s`, `{"code":"upstream_unavailable","retryAfterSeconds":5,"server":"one"}`, health.ReasonFailed},
		"one that is installed":    {&Starting{Server: "one", Reason: "installed"}, Undecided, -32603, `server "one" is not ready: installed, 0 s so far: try again in 5 s`, `{"code":"upstream_unavailable","retryAfterSeconds":5,"server":"one"}`, health.ReasonFailed},
		"a status":                 {&Refused{Status: 429, Said: "a\nb", RetryAfter: 30 * time.Second}, Missed, -32603, failed + `it answered HTTP 429 Too Many Requests and says "a\nb": try again in 30 s`, `{"code":"upstream_error","retryAfterSeconds":30,"server":"one","status":429}`, health.ReasonFailed},
		"a status without words":   {&Refused{Status: 500, Err: io.ErrUnexpectedEOF}, Missed, -32603, failed + `it answered HTTP 500 Internal Server Error`, `{"code":"upstream_error","server":"one","status":500}`, health.ReasonFailed},
		"a long text":              {&Refused{Status: 500, Said: strings.Repeat("ä", 501)}, Missed, -32603, failed + `it answered HTTP 500 Internal Server Error and says "` + strings.Repeat("ä", 500) + `"…`, `{"code":"upstream_error","server":"one","status":500}`, health.ReasonFailed},
		"a session that ended":     {&client.StatusError{Status: 410, Ended: true}, Undecided, -32603, failed + "the server answered with the HTTP status 410 Gone", upstream, health.ReasonFailed},
		"a session that is denied": {&client.StatusError{Status: 404, Ended: true, Refused: true}, Missed, -32603, `server "one" is not available`, down, health.ReasonFailed},
		"one that is denied in words": {&client.StatusError{Status: 404, Ended: true, Refused: true, Said: &jsonrpc.Error{Code: -32001, Message: "no session"}},
			Reached, -32001, "no session", "", health.ReasonFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := DeliveryOf(t.Context(), tt.err); got != tt.delivery {
				t.Errorf("delivery = %v, want %v", got, tt.delivery)
			}
			if got := Classify(fmt.Errorf("connect: %w", tt.err)); got != tt.class {
				t.Errorf("class = %s, want %s", got, tt.class)
			}
			got, ok := errors.AsType[*jsonrpc.Error](ToRPC(tt.err, "one"))
			if !ok || got.Code != tt.code || got.Message != tt.message || string(got.Data) != tt.data {
				t.Errorf("the client is told %d %s %s, want %d %s %s", got.Code, got.Message, got.Data, tt.code, tt.message, tt.data)
			}
		})
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if got := DeliveryOf(gone, io.ErrUnexpectedEOF); got != Undecided {
		t.Errorf("delivery of a request whose client left = %v", got)
	}
	if ToRPC(nil, "one") != nil || DeliveryOf(t.Context(), nil) != Reached {
		t.Error("no error is one")
	}
}

// TestAReasonIsWhatAUserCanMend of why a server cannot be used. Only a bridge's own refusals of a request's hops count.
func TestAReasonIsWhatAUserCanMend(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"a loop":                    NewHops("bridge_loop", "a loop"),
		"too many":                  fmt.Errorf("x: %w", NewHops("too_many_bridges", "too many")),
		"lists":                     &TooMuch{Text: "lists"},
		egress.ErrNotPublic.Error(): fmt.Errorf("x: %w", egress.ErrNotPublic),
		oauth.ErrPlain.Error():      oauth.ErrPlain,
		"":                          NewHops("other", "no"),
	} {
		if got := ReasonFor(err); got != want {
			t.Errorf("reason = %q, want %q", got, want)
		}
	}
	for _, err := range []error{errors.New("x"), NewState("bridge_loop", "x"), InvalidParams("x"), MethodNotFound("x"), TooManyQuestions(1), NewAmbiguousClient("x")} {
		if got := ReasonFor(err); got != "" {
			t.Errorf("the reason of %v is %q", err, got)
		}
	}
	if !IsMethodNotFound(MethodNotFound("x")) || IsMethodNotFound(NewAmbiguousClient("x")) {
		t.Error("an unknown method is not told from one that is not for the client")
	}
	now := time.Now()
	if open := (&CircuitOpen{Until: now.Add(1500 * time.Millisecond)}); open.Seconds(now) != 2 || open.Seconds(now.Add(time.Hour)) != 1 {
		t.Error("a pause is not rounded up to seconds")
	}
}
