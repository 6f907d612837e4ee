// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"

	"github.com/hostedbridge/hostedbridge/internal/jsondoc"
)

// hashPattern is how install.toolsHash is written.
var hashPattern = regexp.MustCompile(`^sha256-[0-9a-f]{64}$`)

// ToolsHash returns the fingerprint of a server's tools, each as tools/list
// shows it: of their names, descriptions and input schemas, in the order of the
// names. A recipe that was audited carries it, and a server whose tools changed
// since has another.
func ToolsHash(tools [][]byte) (string, error) {
	list := jsondoc.Value{Kind: jsondoc.Array}
	for i, raw := range tools {
		tool, err := jsondoc.Parse(raw)
		if err != nil {
			return "", fmt.Errorf("tool %d %w", i, err)
		}
		kept := jsondoc.Value{Kind: jsondoc.Object}
		for _, m := range tool.Members {
			switch m.Name {
			case "name", "description", "inputSchema":
				kept.Members = append(kept.Members, m)
			}
		}
		list.Items = append(list.Items, kept)
	}
	slices.SortStableFunc(list.Items, func(a, b jsondoc.Value) int { return cmp.Compare(nameOf(a), nameOf(b)) })
	sum := sha256.Sum256(appendCanonical(nil, list))
	return "sha256-" + hex.EncodeToString(sum[:]), nil
}

func nameOf(tool jsondoc.Value) string {
	name, _ := tool.Get("name")
	return name.Text
}
