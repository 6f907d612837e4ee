// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// The bounds of a list. A description is for a person to choose by; clients read the
// whole.
const (
	// MaxTools is many times the tools that a model can choose from.
	MaxTools = 4096
	// MaxName is the length of the longest name, in bytes.
	MaxName = 256
	// MaxText is the length of the longest description, in bytes.
	MaxText = 1024
	// MaxToolsBytes is the size of the longest list, in bytes.
	MaxToolsBytes = 4 << 20
)

// ToolList are the tools of all servers of a bridge.
type ToolList struct {
	Tools []Tool `json:"tools"`
	// More means that the bridge has more tools than MaxTools.
	More bool `json:"more,omitempty"`
	// Next is the position of the first tool after a page, 0 on the last page.
	Next int `json:"-"`
}

// Tool is one tool.
type Tool struct {
	// Name is the name by which clients call the tool, and Tool the server's own.
	Name        string `json:"name"`
	Server      string `json:"server"`
	Tool        string `json:"tool"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	// Denied means that the configuration of the server does not allow the tool.
	Denied bool `json:"denied,omitempty"`
	// Hidden means that the server of the tool is out of service.
	Hidden bool `json:"hidden,omitempty"`
}

// Bounded returns the tool with texts of bounded length, without control characters.
func (t Tool) Bounded() Tool {
	t.Name, t.Server, t.Tool, t.Title = toolText(t.Name, MaxName), toolText(t.Server, MaxName), toolText(t.Tool, MaxName), toolText(t.Title, MaxName)
	t.Description = toolText(t.Description, MaxText)
	return t
}

// toolText returns the beginning of s, on one line and without characters that change the
// direction or the look of others.
func toolText(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit]
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == unicode.ReplacementChar:
			return -1
		case unicode.IsPrint(r):
			return r
		case unicode.Is(unicode.Cf, r):
			return -1
		}
		return ' '
	}, strings.ToValidUTF8(s, ""))
}

// ToolPage selects tools of a list.
type ToolPage struct {
	// First is the position of the page's first tool in the list, from 0.
	First int
	// Limit is how many tools the page has at most.
	Limit int
	// Keep says which tools are in pages, nil for all.
	Keep func(Tool) bool
}

var errTooLong = fmt.Errorf("the list has more than %d bytes", MaxToolsBytes)

// ReadTools reads a page from the answer of a bridge. It keeps no more in memory than the page,
// and one tool as it came.
func ReadTools(from io.Reader, p ToolPage) (ToolList, error) {
	limited := &io.LimitedReader{R: from, N: MaxToolsBytes + 1}
	r := toolReader{json.NewDecoder(limited), p, ToolList{Tools: []Tool{}}, 0}
	err := r.object()
	switch {
	case limited.N == 0:
		return ToolList{}, errTooLong
	case err != nil && !errors.Is(err, errPageFull):
		// The decoder quotes what it read.
		return ToolList{}, fmt.Errorf("read a list of tools: %.200s", err.Error())
	}
	return r.list, nil
}

// errPageFull ends the reading of a list of which no more is wanted.
var errPageFull = errors.New("the page is full")

type toolReader struct {
	*json.Decoder

	page     ToolPage
	list     ToolList
	position int
}

// object reads the list, and what follows it.
func (r *toolReader) object() error {
	if err := r.expect(json.Delim('{')); err != nil {
		return err
	}
	for r.More() {
		member, err := r.Token()
		if err != nil {
			return err
		}
		switch member {
		case "tools":
			err = r.tools()
		case "more":
			err = r.Decode(&r.list.More)
		default:
			err = r.Decode(new(json.RawMessage))
		}
		if err != nil {
			return err
		}
	}
	if err := r.expect(json.Delim('}')); err != nil {
		return err
	}
	if _, err := r.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more follows the list")
	}
	return nil
}

func (r *toolReader) tools() error {
	if err := r.expect(json.Delim('[')); err != nil {
		return err
	}
	for ; r.Decoder.More(); r.position++ {
		if r.position == MaxTools {
			r.list.More = true
			return errPageFull
		}
		var t Tool
		if err := r.Decode(&t); err != nil {
			return err
		}
		if t = t.Bounded(); r.position < r.page.First || r.page.Keep != nil && !r.page.Keep(t) {
			continue
		}
		if len(r.list.Tools) == r.page.Limit {
			r.list.Next = r.position
			return errPageFull
		}
		r.list.Tools = append(r.list.Tools, t)
	}
	return r.expect(json.Delim(']'))
}

func (r *toolReader) expect(want json.Delim) error {
	switch got, err := r.Token(); {
	case err != nil:
		return err
	case got != want:
		return fmt.Errorf("%v in place of %v", got, want)
	}
	return nil
}
