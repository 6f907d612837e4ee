// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package laptop

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/template"
)

// MaxSecret is the maximum length of a secret in bytes, as in a cluster.
const MaxSecret = 64 << 10

var (
	errName       = errors.New("the name of a secret has capitals, digits and underscores, such as GITHUB_TOKEN, or a dot, such as credentials.json")
	errNoValue    = errors.New("the secret is empty")
	errTooLong    = fmt.Errorf("the secret is longer than %d bytes", MaxSecret)
	errSuperseded = errors.New("the secret is another one by now")
	// ErrNoSecret says that no secret has this name.
	ErrNoSecret = errors.New("there is no secret of that name")
)

// Secrets stores the user's secrets in the system's keyring or, without a keyring, in a file that
// only its owner can read. The file also lists the secrets in the keyring, which cannot list them.
type Secrets struct {
	path    string
	keyring Keyring // nil without a keyring

	mu sync.Mutex
	// held maps the logins that this process currently refreshes to their stored values at the
	// start of its turn; empty values were not stored.
	held map[string]string
}

// Keyring stores secrets outside of files.
type Keyring interface {
	Get(ctx context.Context, name string) (string, error)
	Set(ctx context.Context, name, value string) error
	Delete(ctx context.Context, name string) error
}

// OpenSecrets returns the store in this configuration folder. Without a keyring, all secrets are
// in the file.
func OpenSecrets(folder string, k Keyring) *Secrets {
	return &Secrets{path: filepath.Join(folder, "secrets.json"), keyring: k, held: map[string]string{}}
}

// Path returns the path of the store's file.
func (s *Secrets) Path() string { return s.path }

// register is the content of the store's file.
type register struct {
	// Revision counts the changes, so that a running bridge also notices changes in the keyring.
	Revision int `json:"revision"`
	// Keyring are the names of the secrets in the keyring.
	Keyring []string `json:"keyring,omitempty"`
	// Values are the secrets outside of the keyring.
	Values map[string]string `json:"values,omitempty"`
}

func (s *Secrets) load() (register, error) {
	r := register{}
	if err := readNotes(s.path, &r); err != nil {
		return r, fmt.Errorf("read the secrets: %w", err)
	}
	if r.Values == nil {
		r.Values = map[string]string{}
	}
	return r, nil
}

func (s *Secrets) save(r register) error {
	r.Revision++
	slices.Sort(r.Keyring)
	doc, err := jsondoc.Encode(r)
	if err != nil {
		return fmt.Errorf("encode the secrets: %w", err)
	}
	return WriteFile(s.path, doc.Indented())
}

// change changes the file once, while other processes wait.
func (s *Secrets) change(f func(*register) error) error {
	unlock, err := lock(s.path)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := s.load()
	if err != nil {
		return err
	}
	if err := f(&r); err != nil {
		return err
	}
	return s.save(r)
}

// Set stores a secret, and reports whether it is in the keyring. If the keyring fails or the
// secret is too large for it, the secret is in the file.
func (s *Secrets) Set(ctx context.Context, name, value string) (inKeyring bool, err error) {
	if err := valid(name, value); err != nil {
		return false, err
	}
	err = s.change(func(r *register) error {
		inKeyring = s.put(ctx, r, name, value)
		return nil
	})
	return inKeyring, err
}

// CheckName returns an error for an invalid secret name.
func CheckName(name string) error {
	if !template.ValidName(name) {
		return errName
	}
	return nil
}

func valid(name, value string) error {
	switch {
	case value == "":
		return errors.Join(CheckName(name), errNoValue)
	case len(value) > MaxSecret:
		return errors.Join(CheckName(name), errTooLong)
	}
	return CheckName(name)
}

// put stores a secret in the keyring or in the file, and reports whether it is in the keyring.
func (s *Secrets) put(ctx context.Context, r *register, name, value string) (inKeyring bool) {
	r.Keyring = slices.DeleteFunc(r.Keyring, func(n string) bool { return n == name })
	if s.keyring != nil && s.keyring.Set(ctx, name, value) == nil {
		delete(r.Values, name)
		r.Keyring = append(r.Keyring, name)
		return true
	}
	r.Values[name] = value
	return false
}

// turnInterval is how often a waiting process checks for its turn. A refresh takes some hundred
// milliseconds.
const turnInterval = 50 * time.Millisecond

// Turn waits until no other process refreshes the login in the secret of this name, and blocks
// other processes until end is called. It returns the stored value, nil without one.
func (s *Secrets) Turn(ctx context.Context, name string) (value []byte, end func(), err error) {
	if !template.ValidName(name) {
		return nil, nil, errName // The name becomes part of a path.
	}
	end, err = lockWithin(ctx, s.path+"."+name, turnInterval)
	if err != nil {
		return nil, nil, err
	}
	r, err := s.load()
	if err != nil {
		end()
		return nil, nil, err
	}
	stored, err := s.read(ctx, r, name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[name] = stored; err != nil {
		// A locked keyring must not end a login whose tokens are known.
		delete(s.held, name)
	}
	if stored == "" {
		return nil, end, nil
	}
	return []byte(stored), end, nil
}

// Save stores refreshed tokens. If the secret has changed since the start of the turn, the user
// has logged in again: the new login stays, and the bridge notices it like any other change.
func (s *Secrets) Save(ctx context.Context, name string, value []byte) error {
	if err := valid(name, string(value)); err != nil {
		return err
	}
	s.mu.Lock()
	before, turn := s.held[name]
	s.mu.Unlock()
	err := s.change(func(r *register) error {
		if stored, err := s.read(ctx, *r, name); turn && err == nil && stored != before {
			return errSuperseded
		}
		s.put(ctx, r, name, string(value))
		return nil
	})
	if errors.Is(err, errSuperseded) {
		return nil
	}
	if err == nil {
		s.mu.Lock()
		s.held[name] = string(value)
		s.mu.Unlock()
	}
	return err
}

// Delete removes a secret.
func (s *Secrets) Delete(ctx context.Context, name string) error {
	return s.change(func(r *register) error {
		_, inFile := r.Values[name]
		inKeyring := slices.Contains(r.Keyring, name)
		if !inFile && !inKeyring {
			return ErrNoSecret
		}
		if inKeyring {
			if s.keyring == nil {
				return errNoKeyring
			}
			if err := s.keyring.Delete(ctx, name); err != nil {
				return fmt.Errorf("delete from the keyring: %w", err)
			}
		}
		delete(r.Values, name)
		r.Keyring = slices.DeleteFunc(r.Keyring, func(n string) bool { return n == name })
		return nil
	})
}

// Names returns the names of all secrets, sorted.
func (s *Secrets) Names() ([]string, error) {
	r, err := s.load()
	if err != nil {
		return nil, err
	}
	names := append(slices.Collect(maps.Keys(r.Values)), r.Keyring...)
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Resolver finds the values of secrets: in the store, then in a .env file beside a configuration
// of mcp-bridge, then in the process's environment.
type Resolver struct {
	Store  *Secrets
	DotEnv map[string]string
	Getenv func(string) string
	// Brought are names that recipes introduced. They are not read from the environment, because a
	// recipe's author could guess the name of a variable there.
	Brought []string
}

// Resolve returns the values of the names that have one. Secrets that the keyring cannot return
// are unreadable; the error says why, and the other values are valid.
func (r Resolver) Resolve(ctx context.Context, names []string) (values map[string][]byte, unreadable []string, err error) {
	stored, err := r.Store.load()
	if err != nil {
		return nil, nil, err
	}
	values = map[string][]byte{}
	var failed error
	for _, name := range names {
		switch value, inFile := stored.Values[name]; {
		case inFile:
			values[name] = []byte(value)
		case slices.Contains(stored.Keyring, name):
			// Do not ask a failed keyring again for each secret.
			if failed == nil {
				value, failed = r.Store.fromKeyring(ctx, name)
			}
			if failed != nil {
				unreadable = append(unreadable, name)
				continue
			}
			values[name] = []byte(value)
		default:
			if value := r.elsewhere(name); value != "" {
				values[name] = []byte(value)
			}
		}
	}
	return values, unreadable, failed
}

func (r Resolver) elsewhere(name string) string {
	if value := r.DotEnv[name]; value != "" {
		return value
	}
	// A variable's name contains no dot.
	if strings.ContainsRune(name, '.') || slices.Contains(r.Brought, name) {
		return ""
	}
	return r.Getenv(name)
}

// read returns a secret of the store, empty if it is not in r.
func (s *Secrets) read(ctx context.Context, r register, name string) (string, error) {
	if value, inFile := r.Values[name]; inFile || !slices.Contains(r.Keyring, name) {
		return value, nil
	}
	return s.fromKeyring(ctx, name)
}

func (s *Secrets) fromKeyring(ctx context.Context, name string) (string, error) {
	if s.keyring == nil {
		return "", errNoKeyring
	}
	value, err := s.keyring.Get(ctx, name)
	if err != nil {
		return "", fmt.Errorf("read secret %s from the keyring: %w", name, err)
	}
	return value, nil
}
