// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

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
	"github.com/hostedbridge/hostedbridge/internal/pki"
)

// maxKeyFile is the size in bytes of a key's file, 44 and a line end, with
// room to see that it is another kind of file.
const maxKeyFile = 64

// Ring is what the versions of the master key are for. It does not hand the
// keys out.
type Ring struct {
	envelopes *envelope.Keys
	authority *pki.Authority
	versions  []uint32
}

// LoadRing reads a directory as Kubernetes mounts a Secret: one file for each
// version, named by it in decimal, with the base64 of 32 bytes. The highest
// version seals; the lowest makes the authority, see package pki. It is strict,
// and its error names every file that is wrong and quotes none.
func LoadRing(dir string) (*Ring, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("load master keys: %w", err)
	}
	var errs []error
	keys := map[uint32][envelope.KeySize]byte{}
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, "..") {
			continue // The kubelet's own, by which it replaces all files at once.
		}
		version, key, err := loadKey(dir, name)
		if err != nil {
			errs = append(errs, fmt.Errorf("%q: %w", name, err))
			continue
		}
		keys[version] = key
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("load master keys from %s: %w", dir, errors.Join(errs...))
	}
	ring, err := newRing(keys)
	if err != nil {
		return nil, fmt.Errorf("load master keys from %s: %w", dir, err)
	}
	return ring, nil
}

func newRing(keys map[uint32][envelope.KeySize]byte) (*Ring, error) {
	local, err := envelope.NewKeyring(keys, 0)
	if err != nil {
		return nil, err
	}
	envelopes, err := envelope.NewKeys(local)
	if err != nil {
		return nil, err
	}
	versions := slices.Sorted(maps.Keys(keys))
	authority, err := pki.NewAuthority(keys[versions[0]])
	if err != nil {
		return nil, err
	}
	return &Ring{envelopes: envelopes, authority: authority, versions: versions}, nil
}

func loadKey(dir, name string) (version uint32, key [envelope.KeySize]byte, err error) {
	n, err := strconv.ParseUint(name, 10, 31) // It must fit the status' int32.
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != name {
		return 0, key, errors.New("the name is not a key version such as 1")
	}
	content, err := readKey(filepath.Join(dir, name))
	if err != nil {
		return 0, key, err
	}
	decoded, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSuffix(string(content), "\n"))
	// The decoder's own error would quote what it stumbled over, and it passes
	// over line ends.
	if err != nil || len(decoded) != len(key) || base64.StdEncoding.EncodeToString(decoded) != strings.TrimSuffix(string(content), "\n") {
		return 0, key, fmt.Errorf("the content is not the base64 of %d bytes", len(key))
	}
	copy(key[:], decoded)
	if key == ([envelope.KeySize]byte{}) {
		return 0, key, errors.New("the key is all zeroes")
	}
	return uint32(n), key, nil
}

func readKey(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	return content, nil
}

// Authority issues the installation's certificates.
func (r *Ring) Authority() *pki.Authority { return r.authority }

// Versions returns the key versions in ascending order.
func (r *Ring) Versions() []uint32 { return slices.Clone(r.versions) }
