// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Command guarded-server is an MCP server that wants a bearer token, an
// upstream for samples and tests:
//
//	guarded-server --http=:8080 --token-hash=sha256:<64 hex digits>
//
// It is told the tokens' hashes, so that neither its arguments nor its
// environment hold what it guards. Its tool whoami says what came with the
// call, by hash. To a client whose secret or login it knows by hash it gives
// tokens out itself, at /oauth/token, and for people who log in with a password of
// their choice at /oauth/authorize.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/apikey"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "guarded-server:", err)
		os.Exit(1)
	}
}

// run serves until the context ends.
func run(ctx context.Context, args []string, stderr io.Writer) error {
	var tokens, clients, logins hashes
	flags := flag.NewFlagSet("guarded-server", flag.ContinueOnError)
	flags.SetOutput(stderr)
	address := flags.String("http", ":8080", "the address to serve MCP on, by streamable HTTP, and by SSE at /sse")
	lifetime := flags.Duration("token-lifetime", time.Hour, "how long a token lives that is given out")
	const form = ", as sha256: and 64 hex digits; may be repeated"
	flags.Func("token-hash", "the SHA-256 of a token that is let in"+form, tokens.add)
	flags.Func("client-secret-hash", "the SHA-256 of a client's secret, for which tokens are given out"+form, clients.add)
	flags.Func("login-hash", "the SHA-256 of a refresh token, for which tokens are given out once"+form, logins.add)
	var redirects []string
	flags.Func("redirect-uri", "where people who log in are sent back to; may be repeated", func(s string) error {
		redirects = append(redirects, s)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	for name, h := range map[string]hashes{"token-hash": tokens, "client-secret-hash": clients, "login-hash": logins} {
		if h.wrong != nil {
			return fmt.Errorf("--%s: %w", name, h.wrong)
		}
	}
	if len(tokens.known)+len(clients.known)+len(logins.known) == 0 {
		return errors.New("--token-hash is not set: nobody would be let in")
	}
	handler := newHandler(tokens.known, newAuthority(*lifetime, clients.known, logins.known, redirects...))
	// A tool's answer is soon written, but a client may keep a stream open.
	s := &http.Server{Addr: *address, Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	if err := s.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// hashes are what a flag that may be repeated has given.
type hashes struct {
	known []apikey.Hash
	wrong error
}

// add never fails: package flag would print the value, which may be what was to
// be hashed.
func (h *hashes) add(s string) error {
	hash, err := apikey.ParseHash(s)
	h.known, h.wrong = append(h.known, hash), errors.Join(h.wrong, err)
	return nil
}
