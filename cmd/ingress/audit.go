// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/audit/sink"
)

// auditOptions say where the audit trail goes.
type auditOptions struct {
	Sink    sink.Config
	KeyFile string
}

func defaultAudit() auditOptions {
	// About 150,000 calls in a file, and one for each day.
	return auditOptions{Sink: sink.Config{MaxBytes: 100 << 20, MaxAge: 24 * time.Hour}}
}

func (a *auditOptions) registerFlags(fs *pflag.FlagSet) {
	fs.StringVar(&a.Sink.Path, "audit-file", a.Sink.Path, "file of the audit trail (default: standard output)")
	fs.Int64Var(&a.Sink.MaxBytes, "audit-max-bytes", a.Sink.MaxBytes, "size at which a new audit file starts; 0 means never")
	fs.DurationVar(&a.Sink.MaxAge, "audit-max-age", a.Sink.MaxAge, "age at which a new audit file starts; 0 means never")
	fs.IntVar(&a.Sink.MaxFiles, "audit-max-files", a.Sink.MaxFiles, "number of full audit files to keep; 0 means all")
	fs.BoolVar(&a.Sink.Sync, "audit-fsync", a.Sink.Sync, "send each answer only after its audit entries are on the disk")
	fs.StringVar(&a.KeyFile, "audit-key-file", a.KeyFile, "key for the hashes of addresses and sessions, 16 bytes or more, the same for all replicas (default, and while the file does not exist: a random key of this process)")
}

func (a *auditOptions) validate() error {
	var errs []error
	if a.Sink.MaxBytes != 0 && a.Sink.MaxBytes < 1<<20 {
		errs = append(errs, errors.New("--audit-max-bytes must be 0, or 1048576 or more"))
	}
	if a.Sink.MaxAge != 0 && a.Sink.MaxAge < time.Minute {
		errs = append(errs, errors.New("--audit-max-age must be 0, or 1m or more"))
	}
	if a.Sink.MaxFiles < 0 {
		errs = append(errs, errors.New("--audit-max-files must be 0 or more"))
	}
	if a.Sink.Sync && a.Sink.Path == "" {
		errs = append(errs, errors.New("--audit-fsync needs --audit-file"))
	}
	return errors.Join(errs...)
}

// open returns the sink and what hides addresses and sessions in it.
func (a *auditOptions) open(stdout io.Writer, log *slog.Logger) (*sink.Sink, *audit.Hasher, error) {
	key, err := a.key(log)
	if err != nil {
		return nil, nil, err
	}
	hasher, err := audit.NewHasher(key)
	if err != nil {
		return nil, nil, fmt.Errorf("--audit-key-file: %w", err)
	}
	s, err := sink.Open(a.Sink, stdout)
	if err != nil {
		return nil, nil, fmt.Errorf("audit: %w", err)
	}
	return s, hasher, nil
}

// key returns the key of the hashes. A file that is not there is no error: the
// Secret that it comes from is one that an installation may have.
func (a *auditOptions) key(log *slog.Logger) ([]byte, error) {
	if a.KeyFile == "" {
		return []byte(rand.Text()), nil
	}
	read, err := os.ReadFile(a.KeyFile) //nolint:gosec // A flag names the file.
	if errors.Is(err, os.ErrNotExist) {
		log.Warn("--audit-key-file does not exist; hashes of addresses and sessions are of this process alone", "file", a.KeyFile)
		return []byte(rand.Text()), nil
	}
	if err != nil {
		return nil, fmt.Errorf("read --audit-key-file: %w", err)
	}
	return bytes.TrimSpace(read), nil
}
