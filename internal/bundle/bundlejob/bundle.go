// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bundlejob is the process that makes a bundle of what npm or uv installed: the second
// container of a Job, after that has run in the first one without any credential.
package bundlejob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

const (
	// certificateTimeout is how long a keybroker may be away, for example while it
	// is replaced, until the Job begins again.
	certificateTimeout = time.Minute
	// maxLog is how much of the log of npm or uv is read, in bytes: its end, with the reasons.
	maxLog = 256 << 10
)

// Run makes one bundle. It returns nil where it has written the outcome, also that of a
// failure of npm or uv, which another try would only repeat.
func Run(ctx context.Context, args []string, stderr io.Writer) error {
	o, err := parse(args, os.Getenv, stderr)
	if err != nil {
		return err
	}
	log, err := telemetry.NewLogger(stderr, "info")
	if err != nil {
		return err
	}
	return run(ctx, &o, log)
}

func run(ctx context.Context, o *Options, log *slog.Logger) error {
	act := makeBundle
	if o.Registry != "" {
		act = useRegistry
	}
	outcome, err := act(ctx, o, log)
	if f, ok := errors.AsType[*bundle.Failure](err); ok {
		outcome, err = bundle.FailedOutcome(f), nil
	}
	if err != nil {
		return err
	}
	text, err := outcome.Encode()
	if err != nil {
		return fmt.Errorf("encode the outcome: %w", err)
	}
	log.InfoContext(ctx, "outcome", "digest", outcome.Digest, "size", outcome.Size, "code", outcome.Code, "message", outcome.Message)
	if err := os.WriteFile(o.Result, text, 0o600); err != nil {
		return fmt.Errorf("write the outcome: %w", err)
	}
	return nil
}

// makeBundle packs what was installed, and uploads it. The error is a *bundle.Failure if the
// package is at fault.
func makeBundle(ctx context.Context, o *Options, log *slog.Logger) (bundle.Outcome, error) {
	record, bin, err := read(o)
	if err != nil {
		return bundle.Outcome{}, err
	}
	file, err := os.CreateTemp(o.Temporary, "bundle-*")
	if err != nil {
		return bundle.Outcome{}, fmt.Errorf("make room for the bundle: %w", err)
	}
	defer func() { _ = errors.Join(file.Close(), os.Remove(file.Name())) }()
	if err := record.Pack(o.Tree, file, bundle.Limits{Bytes: o.MaxBytes}); err != nil {
		return bundle.Outcome{}, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return bundle.Outcome{}, err
	}
	return withPeers(ctx, o, log, func(ctx context.Context, p peers) (bundle.Outcome, error) {
		return bundle.OutcomeOf(record, bin), p.put(ctx, record, file)
	})
}

// read reads what npm or uv did, and which program is started by default.
func read(o *Options) (r *bundle.Record, bin string, err error) {
	source := bundle.Source{Method: o.Method, Package: o.Package, Version: o.Version, Architecture: o.Architecture, Runtime: o.Image}
	code, err := os.ReadFile(o.ExitCode)
	if err != nil {
		return nil, "", fmt.Errorf("read how the install ended: %w", err)
	}
	log, err := readEnd(o.Log)
	if err != nil {
		return nil, "", fmt.Errorf("read the log of the install: %w", err)
	}
	if n, err := strconv.Atoi(strings.TrimSpace(string(code))); err != nil || n != 0 {
		return nil, "", bundle.FailureOf(source, log)
	}
	return bundle.RecordOf(o.Tree, source, log, time.Now())
}

// readEnd returns the last maxLog bytes of a file.
func readEnd(name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.NewSectionReader(file, max(0, info.Size()-maxLog), maxLog))
	return string(text), err
}
