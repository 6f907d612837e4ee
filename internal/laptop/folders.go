// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package laptop

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
)

const (
	folderMode = 0o700
	fileMode   = 0o600
)

// name is the name of the bridge's folders, its keyring entries and its entries in other programs'
// files.
const name = "hosted-bridge"

// Folders are the folders of a local bridge.
type Folders struct {
	// Config contains the configuration and, without a keyring, the secrets.
	Config string
	// State contains the bridge's own records.
	State string
	// Data contains the programs that the bridge installs.
	Data string
	// Home is the user's home folder, which contains the files of clients.
	Home string
}

// FoldersOf returns the folders according to XDG, on every system.
func FoldersOf(getenv func(string) string) (Folders, error) {
	home := getenv("HOME")
	if home == "" {
		var err error
		if home, err = os.UserHomeDir(); err != nil {
			return Folders{}, fmt.Errorf("find the home folder: %w", err)
		}
	}
	pick := func(variable string, parts ...string) string {
		base := getenv(variable)
		// XDG requires that relative paths are ignored.
		if base == "" || !filepath.IsAbs(base) {
			base = filepath.Join(append([]string{home}, parts...)...)
		}
		return filepath.Join(base, name)
	}
	return Folders{
		Config: pick("XDG_CONFIG_HOME", ".config"),
		State:  pick("XDG_STATE_HOME", ".local", "state"),
		Data:   pick("XDG_DATA_HOME", ".local", "share"),
		Home:   home,
	}, nil
}

// ConfigFile returns the default path of the configuration.
func (f Folders) ConfigFile() string { return filepath.Join(f.Config, "config.json") }

// BridgeUID returns the identity of this bridge. It stays the same as long as the state folder and
// the configuration's path stay the same.
func (f Folders) BridgeUID(configFile string) (string, error) {
	absolute, err := filepath.Abs(configFile)
	if err != nil {
		return "", fmt.Errorf("find the configuration: %w", err)
	}
	sum := sha256.Sum256([]byte(absolute))
	path := filepath.Join(f.State, "bridge-"+hex.EncodeToString(sum[:8])+".uid")
	b, err := os.ReadFile(path)
	if err == nil && len(b) == 32 {
		return string(b), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the bridge's id: %w", err)
	}
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return "", fmt.Errorf("make the bridge's id: %w", err)
	}
	uid := hex.EncodeToString(id[:])
	return uid, WriteFile(path, []byte(uid))
}

// WriteFile replaces a whole file, readable only by its owner, and creates its folder if
// necessary. It follows a link, so that files that are stored elsewhere stay there.
func WriteFile(path string, content []byte) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, folderMode); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	temporary, err := os.CreateTemp(folder, ".tmp-*") // with mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() { _ = os.Remove(temporary.Name()) }()
	_, err = temporary.Write(content)
	if err == nil {
		err = temporary.Sync()
	}
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// readPrivate reads a file, and refuses it if other users may read it. It returns nil for a
// missing file.
func readPrivate(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	// Windows has no such bits; the profile folder is private.
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s can be read by others; run: chmod 600 %s", path, path)
	}
	return os.ReadFile(path)
}

// readNotes parses a file of the bridge into the value that into points to. A missing file leaves
// the value unchanged.
func readNotes[T any](path string, into *T) error {
	b, err := readPrivate(path)
	if b == nil || err != nil {
		return err
	}
	doc, err := jsondoc.Parse(b)
	if err != nil {
		return fmt.Errorf("%s %w", path, err)
	}
	if problems := jsondoc.Decode(doc, into); len(problems) > 0 {
		return fmt.Errorf("%s: %s", path, problems[0])
	}
	return nil
}
