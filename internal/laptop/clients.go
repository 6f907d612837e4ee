// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package laptop

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strconv"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/clientconfig"
)

// Entry says how a client reaches the bridge: by URL if it is set, else by running its program.
type Entry struct {
	Command string
	// Config is the path of the bridge's configuration, empty for the default.
	Config string
	URL    string
}

// bridge returns what a client's file has of the bridge. Without a command the program serves
// over stdio. Claude Code hides arguments wherever they stand in errors: with serve, "server"
// would read "[redacted]r".
func (e Entry) bridge() clientconfig.Bridge {
	b := clientconfig.Bridge{Name: name, Command: e.Command, URL: e.URL}
	if e.Config != "" {
		b.Args = []string{"--config", e.Config}
	}
	return b
}

// Snippet returns a complete client file that contains only the bridge's entry.
func Snippet(c clientconfig.Client, e Entry) ([]byte, error) { return c.Snippet(e.bridge()) }

// Write puts the bridge's entry into the client's file and keeps everything else. It saves the
// previous file with the suffix .bak and returns its path, empty if there was no file. changed is
// false if the file was already right.
func Write(c clientconfig.Client, path string, e Entry) (backup string, changed bool, err error) {
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", false, fmt.Errorf("read the client's file: %w", err)
	}
	after, err := merge(c, before, e.bridge())
	if err != nil {
		return "", false, fmt.Errorf("%s: %w", path, err)
	}
	if bytes.Equal(before, after) {
		return "", false, nil
	}
	if before != nil {
		if backup, err = keep(path, before); err != nil {
			return "", false, err
		}
	}
	return backup, true, replace(path, after)
}

// maxBackups limits the backups of a client's file.
const maxBackups = 100

// keep saves the previous file beside path under an unused name: the oldest backup is the file
// from before the bridge.
func keep(path string, before []byte) (backup string, err error) {
	for n := range maxBackups {
		if backup = path + ".bak"; n > 0 {
			backup += "." + strconv.Itoa(n)
		}
		f, err := os.OpenFile(backup, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			_, err = f.Write(before)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return "", fmt.Errorf("keep the former file: %w", err)
		}
		return backup, nil
	}
	return "", fmt.Errorf("there are %d former files beside %s: delete some", maxBackups, path)
}

// replace writes a client's file and keeps its mode.
func replace(path string, content []byte) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return WriteFile(path, content)
	}
	if err != nil {
		return fmt.Errorf("look at %s: %w", path, err)
	}
	if err := WriteFile(path, content); err != nil {
		return err
	}
	if err := os.Chmod(path, info.Mode().Perm()); err != nil {
		return fmt.Errorf("give %s its mode: %w", path, err)
	}
	return nil
}

func merge(c clientconfig.Client, before []byte, b clientconfig.Bridge) ([]byte, error) {
	if c.TOML {
		return appendSection(before, b)
	}
	entry, err := c.Entry(b)
	if err != nil {
		return nil, err
	}
	doc := jsondoc.Value{Kind: jsondoc.Object}
	if len(bytes.TrimSpace(before)) > 0 {
		if doc, err = jsondoc.Parse(before); err != nil {
			return nil, fmt.Errorf("%w; it may have comments, so add the entry by hand", err)
		}
	}
	servers, _ := doc.Get(c.Member)
	if doc.Kind != jsondoc.Object || servers.Kind != jsondoc.Object && servers.Kind != jsondoc.Null {
		return nil, errors.New("is not an object with servers: add the entry by hand")
	}
	merged := doc.With(c.Member, servers.With(name, entry))
	if same, _ := doc.MarshalJSON(); bytes.Equal(same, encoded(merged.MarshalJSON())) {
		return before, nil // The file keeps its layout.
	}
	return merged.Indented(), nil
}

// encoded returns b: encoding a document cannot fail.
func encoded(b []byte, _ error) []byte { return b }

// sectionPattern matches the bridge's table in every TOML spelling.
var sectionPattern = regexp.MustCompile(`(?m)^[ \t]*\[[ \t]*(mcp_servers|"mcp_servers"|'mcp_servers')[ \t]*\.[ \t]*(` + name + `|"` + name + `"|'` + name + `')[ \t]*[\].]`)

func appendSection(before []byte, b clientconfig.Bridge) ([]byte, error) {
	if sectionPattern.Match(before) {
		if bytes.Contains(before, clientconfig.Section(b)) {
			return before, nil
		}
		return nil, errors.New("has another entry for the bridge: change it by hand")
	}
	after := bytes.TrimRight(bytes.Clone(before), "\n")
	if len(after) > 0 {
		after = append(after, "\n\n"...)
	}
	return append(after, clientconfig.Section(b)...), nil
}
