// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package trail

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/audit/sink"
	"github.com/hostedbridge/hostedbridge/internal/setting"
)

// Options say where the audit trail goes.
type Options struct {
	Sink    sink.Config
	KeyFile string
	// Index says where the index is: "none" for no index, sqlite:PATH, store:URL, or postgres:FILE with a
	// file that holds the URL of the database.
	Index string
}

// Declare declares the settings.
func (a *Options) Declare(s *setting.Set) {
	// A file for each day.
	a.Sink.MaxAge = 24 * time.Hour
	s.String(&a.Index, "audit-index", indexNone, "index for queries of audit entries: none, sqlite:PATH, store:URL of an \"ingress store\", or postgres:FILE with the database's URL in the file", indexForm)
	s.String(&a.Sink.Path, "audit-file", "", "file of the audit trail (default: standard output)")
	// About 150,000 calls in a file.
	s.Int64(&a.Sink.MaxBytes, "audit-max-bytes", 100<<20, "size at which a new audit file starts; 0 means never", func(value int64) error {
		if value != 0 && value < 1<<20 {
			return fmt.Errorf("%d is too little; give 0, or 1048576 or more", value)
		}
		return nil
	})
	s.Int(&a.Sink.MaxFiles, "audit-max-files", 0, "number of full audit files to keep; 0 means all", setting.AtLeast(0))
	s.Bool(&a.Sink.Sync, "audit-fsync", false, "send each answer only after its audit entries are on the disk")
	s.String(&a.KeyFile, "audit-key-file", "", "key for the hashes of addresses and sessions, 16 bytes or more, the same for all replicas (default, and while the file does not exist: a random key of this process)")
	s.Check(func() error {
		if a.Sink.Sync && a.Sink.Path == "" {
			return errors.New("--audit-fsync: --audit-file is empty; give it too")
		}
		return nil
	})
}

func indexForm(value string) error {
	if _, _, ok := indexOf(value); !ok {
		return errors.New("the value is not known; give none, sqlite:PATH, store:URL with an https URL, or postgres:FILE")
	}
	return nil
}

// open returns the sink and what hides addresses and sessions in it.
func (a *Options) open(stdout io.Writer, log *slog.Logger) (*sink.Sink, *audit.Hasher, error) {
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
func (a *Options) key(log *slog.Logger) ([]byte, error) {
	if a.KeyFile == "" {
		return []byte(rand.Text()), nil
	}
	read, err := os.ReadFile(a.KeyFile)
	if errors.Is(err, os.ErrNotExist) {
		log.Warn("--audit-key-file does not exist; hashes of addresses and sessions are of this process alone", "file", a.KeyFile)
		return []byte(rand.Text()), nil
	}
	if err != nil {
		return nil, fmt.Errorf("read --audit-key-file: %w", err)
	}
	return bytes.TrimSpace(read), nil
}
