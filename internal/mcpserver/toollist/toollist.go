// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package toollist is what a bridge says of its tools: the JSON of GET /tools. Its readers
// take it as the word of a tenant's pod, and bound it.
//
// The package is pure and uses only the standard library.
package toollist

import (
	"encoding/json"
	"errors"
	"fmt"
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
	// MaxBytes is the size of the longest list, in bytes.
	MaxBytes = 4 << 20
)

// List are the tools of all servers of a bridge.
type List struct {
	Tools []Tool `json:"tools"`
	// More means that there are more tools than MaxTools.
	More bool `json:"more,omitempty"`
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
	t.Name, t.Server, t.Tool, t.Title = text(t.Name, MaxName), text(t.Server, MaxName), text(t.Tool, MaxName), text(t.Title, MaxName)
	t.Description = text(t.Description, MaxText)
	return t
}

// text returns the beginning of s, on one line and without characters that change the
// direction or the look of others.
func text(s string, limit int) string {
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

var errTooLong = errors.New("the list is too long")

// Read reads the answer of a bridge.
func Read(b []byte) (List, error) {
	if len(b) > MaxBytes {
		return List{}, errTooLong
	}
	var l List
	if err := json.Unmarshal(b, &l); err != nil {
		// The decoder quotes what it read.
		return List{}, fmt.Errorf("read a list of tools: %.200s", err.Error())
	}
	if len(l.Tools) > MaxTools {
		l.Tools, l.More = l.Tools[:MaxTools], true
	}
	for i := range l.Tools {
		l.Tools[i] = l.Tools[i].Bounded()
	}
	return l, nil
}
