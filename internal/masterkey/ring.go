// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package masterkey

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
)

// The ring's files beside the versions.
const (
	fileAuthority = "authority"
	fileCurrent   = "current"
	fileMinimum   = "minimum"
	fileLogin     = "login"
)

// maxFile is the size in bytes of a key's file, 44 and a line end, with room to
// see that it is another kind of file.
const maxFile = 64

// errNoAuthority tells how to make the file.
var errNoAuthority = errors.New("is missing: it is the key of the certificate authority, the base64 of 32 random bytes " +
	"(head -c 32 /dev/urandom | base64); a copy of the lowest version keeps the authority of an installation without the file")

type key = [envelope.KeySize]byte

// secrets are the keys in the directory.
type secrets struct {
	keys      map[uint32]key
	authority key
}

// ring is the content of the directory.
type ring struct {
	// secrets are behind a function, which package fmt shows as an address with
	// every verb.
	secrets func() *secrets
	current uint32 // 0 without the file.
	minimum uint32 // 0 without the file.
	// login is the generation of the keys that sign access tokens, 0 without the
	// file.
	login uint32
	// local is nil without versions.
	local *envelope.Keyring
}

func (r *ring) same(other *ring) bool {
	return maps.Equal(r.secrets().keys, other.secrets().keys) && r.current == other.current && r.minimum == other.minimum && r.login == other.login
}

// continues returns nil if next is a later state of this ring, and otherwise
// why it is not: a version has another key, or none of the known versions is
// left. A process that seals with such a ring seals what the other replicas
// cannot open, and the only keys that open existing envelopes may be those in
// memory.
func (r *ring) continues(next *ring) error {
	known, found := r.secrets().keys, next.secrets().keys
	common := false
	var errs []error
	for _, version := range slices.Sorted(maps.Keys(found)) {
		key, ok := known[version]
		common = common || ok
		if ok && key != found[version] {
			errs = append(errs, fmt.Errorf("version %d is another key than the one in use", version))
		}
	}
	if len(known) > 0 && len(found) > 0 && !common {
		errs = append(errs, errors.New("it has none of the versions in use"))
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("this is another ring, and opens nothing of what is sealed (put the ring back where it was; a restart would take this one): %w", errors.Join(errs...))
}

// readRing reads the directory. Its error names every file that is wrong and
// quotes none.
func readRing(dir string) (*ring, error) {
	// The kubelet replaces all files at once by changing this link. Through the
	// other links a reader could get files from before and after.
	from := dir
	if target, err := filepath.EvalSymlinks(filepath.Join(dir, "..data")); err == nil {
		from = target
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return nil, err
	}
	found := &secrets{keys: map[uint32]key{}}
	r := &ring{secrets: func() *secrets { return found }}
	var errs []error
	missing := true
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, "..") {
			continue // The kubelet's own.
		}
		missing = missing && name != fileAuthority
		if err := r.read(from, name); err != nil {
			errs = append(errs, fmt.Errorf("%q: %w", name, err))
		}
	}
	if missing {
		errs = append(errs, fmt.Errorf("%q %w", fileAuthority, errNoAuthority))
	}
	if len(errs) == 0 && len(found.keys) > 0 {
		errs = append(errs, r.join())
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("read %s: %w", dir, err)
	}
	return r, nil
}

// read takes one file into the ring.
func (r *ring) read(dir, name string) (err error) {
	content, err := readFile(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	switch name {
	case fileAuthority:
		r.secrets().authority, err = parseKey(content)
	case fileCurrent:
		r.current, err = parseVersion(content)
	case fileMinimum:
		r.minimum, err = parseVersion(content)
	case fileLogin:
		r.login, err = parseGeneration(content)
	default:
		var version uint32
		if version, err = parseVersion(name); err != nil {
			return fmt.Errorf("the name is not %s, %s, %s, %s or a key version such as 1", fileAuthority, fileCurrent, fileMinimum, fileLogin)
		}
		r.secrets().keys[version], err = parseKey(content)
	}
	return err
}

// join makes the keyring of what was read.
func (r *ring) join() error {
	local, err := envelope.NewKeyring(r.secrets().keys, r.minimum)
	if err == nil && r.current != 0 {
		local, err = local.WithCurrent(r.current)
	}
	r.local = local
	return err
}

// parseVersion accepts a number in its usual form.
func parseVersion(s string) (uint32, error) {
	n, ok := parseNumber(s)
	if !ok || n == 0 {
		return 0, errors.New("the content is not a key version such as 1")
	}
	return n, nil
}

// parseGeneration accepts a number as parseVersion does, and 0, which is the
// value without the file.
func parseGeneration(s string) (uint32, error) {
	n, ok := parseNumber(s)
	if !ok {
		return 0, errors.New("the content is not a number such as 1")
	}
	return n, nil
}

// parseNumber returns no error: the standard library's would quote the file.
func parseNumber(s string) (uint32, bool) {
	n, err := strconv.ParseUint(s, 10, 31) // It must fit the int32 of the status.
	return uint32(n), err == nil && strconv.FormatUint(n, 10) == s
}

func parseKey(s string) (k key, err error) {
	decoded, err := base64.StdEncoding.Strict().DecodeString(s)
	// The decoder's own error would quote the input, and it ignores line ends.
	if err != nil || len(decoded) != len(k) || base64.StdEncoding.EncodeToString(decoded) != s {
		return key{}, fmt.Errorf("the content is not the base64 of %d bytes", len(k))
	}
	copy(k[:], decoded)
	if k == (key{}) {
		return key{}, errors.New("the key is all zeroes")
	}
	return k, nil
}

// readFile returns the content without the end of its line.
func readFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return "", fmt.Errorf("read: %w", err)
	}
	return strings.TrimSuffix(string(content), "\n"), nil
}
