// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Command guarded-server is an MCP server that wants a bearer token, an
// upstream for samples and tests:
//
//	guarded-server --http=:8080 --token-hash=sha256:<64 hex digits>
//
// It is told the tokens' hashes, so that neither its arguments nor its
// environment hold what it guards. Its tool whoami says what came with the
// call, by hash.
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
	var hashes []apikey.Hash
	var wrong error
	flags := flag.NewFlagSet("guarded-server", flag.ContinueOnError)
	flags.SetOutput(stderr)
	address := flags.String("http", ":8080", "the address to serve MCP on, by streamable HTTP")
	flags.Func("token-hash", "the SHA-256 of a token that is let in, as sha256: and 64 hex digits; may be repeated", func(s string) error {
		h, err := apikey.ParseHash(s)
		hashes, wrong = append(hashes, h), errors.Join(wrong, err)
		// Not returned here: package flag would print the value, which may be
		// the token itself.
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	if wrong != nil {
		return fmt.Errorf("--token-hash: %w", wrong)
	}
	if len(hashes) == 0 {
		return errors.New("--token-hash is not set: nobody would be let in")
	}
	// A tool's answer is soon written, but a client may keep a stream open.
	s := &http.Server{Addr: *address, Handler: newHandler(hashes), ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	if err := s.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
