// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Command ingress is the public surface of an installation: it tells who
// calls and passes the call to that user's bridge. "ingress keys create" mints
// API keys, "ingress scim token" the token of a directory, "ingress audit verify"
// checks an audit trail, "ingress check" an installation, "ingress store" keeps
// what all ingresses share, and "ingress bundle" makes a bundle of a program.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/hostedbridge/hostedbridge/internal/audit/sink"
	"github.com/hostedbridge/hostedbridge/internal/bundle/bundlejob"
	"github.com/hostedbridge/hostedbridge/internal/ingress/servicecheck"
	"github.com/hostedbridge/hostedbridge/internal/scim/scimapi"
	"github.com/hostedbridge/hostedbridge/internal/sharedstore"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
	"github.com/hostedbridge/hostedbridge/internal/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs the command and returns its exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := dispatch(ctx, args, stdout, stderr)
	if err == nil || errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	_, _ = fmt.Fprintln(stderr, "ingress:", err)
	return 1
}

func dispatch(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 1 && args[0] == "--version" {
		_, err := fmt.Fprintln(stdout, version.String())
		return err
	}
	if len(args) > 0 {
		switch args[0] {
		case "keys":
			return keys.Create(args[1:], rand.Reader, time.Now(), stdout, stderr)
		case "audit":
			return sink.RunCheck(args[1:], os.Stdin, stdout, stderr)
		case "check":
			return servicecheck.Run(ctx, args[1:], stdout, stderr)
		case "scim":
			return scimapi.RunToken(args[1:], rand.Reader, stdout, stderr)
		case "bundle":
			return bundlejob.Run(ctx, args[1:], stderr)
		case "store":
			return sharedstore.Run(ctx, args[1:], stderr)
		}
	}
	o, err := parseOptions(args, stderr)
	if err != nil {
		return err
	}
	return run(ctx, o, stdout, stderr)
}
