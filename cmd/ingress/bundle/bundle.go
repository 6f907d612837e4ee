// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bundle is the process that makes a bundle of what npm installed: the second
// container of a Job, after npm has run in the first one without any credential.
package bundle

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/bundle/bundleclient"
	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/client"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/internal/telemetry"
)

const (
	// certificateTimeout is how long a keybroker may be away, for example while it
	// is replaced, until the Job begins again.
	certificateTimeout = time.Minute
	// maxLog is how much of npm's log is read, in bytes: its end, with the reasons.
	maxLog = 256 << 10
)

// Run makes one bundle. It returns nil where it has written the outcome, also that of a
// failure of npm, which another try would only repeat.
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
	outcome, err := makeBundle(ctx, o, log)
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

// makeBundle packs what npm installed, and uploads it. The error is a *bundle.Failure if the
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
	result, err := bundle.Pack(o.Tree, file, bundle.Limits{Bytes: o.MaxBytes})
	if err != nil {
		return bundle.Outcome{}, err
	}
	record.Digest, record.Size = result.Digest, result.Size
	if record.CompressedSize, err = file.Seek(0, io.SeekCurrent); err != nil {
		return bundle.Outcome{}, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return bundle.Outcome{}, err
	}
	if err := upload(ctx, o, record, file, log); err != nil {
		return bundle.Outcome{}, err
	}
	return bundle.Outcome{
		Digest: record.Digest, Size: record.Size, CompressedSize: record.CompressedSize, Packages: len(record.Packages),
		Scripts: bundle.WithScripts(record.Packages), Bins: record.Bins, Bin: bin,
	}, nil
}

// read reads what npm did, and which program is started by default.
func read(o *Options) (r *bundle.Record, bin string, err error) {
	wanted := o.Package + "@" + o.Version
	code, err := os.ReadFile(o.ExitCode)
	if err != nil {
		return nil, "", fmt.Errorf("read how npm ended: %w", err)
	}
	log, err := readEnd(o.Log)
	if err != nil {
		return nil, "", fmt.Errorf("read what npm wrote: %w", err)
	}
	if n, err := strconv.Atoi(strings.TrimSpace(string(code))); err != nil || n != 0 {
		return nil, "", bundle.InstallFailure(wanted, log)
	}
	source := bundle.Source{Method: o.Method, Package: o.Package, Version: o.Version, Architecture: o.Architecture, Runtime: o.Image}
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

// upload gets a certificate, by which the store knows this process, and uploads the bundle.
func upload(ctx context.Context, o *Options, record *bundle.Record, content io.Reader, log *slog.Logger) error {
	broker, err := client.New(client.Config{URL: o.KeybrokerURL, CAPEM: []byte(o.KeybrokerCA), TokenFile: o.TokenFile, Log: log})
	if err != nil {
		return fmt.Errorf("keybroker: %w", err)
	}
	source := client.NewSource(broker, clock.System{})
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = source.Run(ctx) // It ends with ctx, which is no error.
	}()
	defer func() {
		cancel()
		<-ended
	}()
	select {
	case <-source.FirstReady():
	case <-time.After(certificateTimeout):
		return errors.New("the keybroker issues no certificate: its log and the lines above have the reason")
	case <-ctx.Done():
		return ctx.Err()
	}
	store, err := bundleclient.New(o.StoreURL, func() *tls.Config { return source.ClientTLS(pki.StoreURI()) })
	if err != nil {
		return err
	}
	defer store.Close()
	err = store.Put(ctx, record, content)
	if e, ok := errors.AsType[*bundleclient.Error](err); ok && e.Status == http.StatusRequestEntityTooLarge {
		return &bundle.Failure{Code: bundle.TooLarge, Message: e.Detail}
	}
	if err != nil {
		return fmt.Errorf("upload the bundle: %w", err)
	}
	return nil
}
