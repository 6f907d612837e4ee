// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeconfig

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
)

// toolsHashForm is the format of a hash.
var toolsHashForm = regexp.MustCompile(`^sha256-[0-9a-f]{64}$`)

// IsToolsHash reports whether hash has the right format.
func IsToolsHash(hash string) bool { return toolsHashForm.MatchString(hash) }

// ToolsHash returns the hash of a server's tools, which are in the format of tools/list. It covers their
// names, descriptions and input schemas, in the order of the names. An audited recipe contains it.
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
	slices.SortStableFunc(list.Items, func(a, b jsondoc.Value) int { return cmp.Compare(toolName(a), toolName(b)) })
	sum := sha256.Sum256(list.AppendCanonical(nil))
	return "sha256-" + hex.EncodeToString(sum[:]), nil
}

func toolName(tool jsondoc.Value) string {
	name, _ := tool.Get("name")
	return name.Text
}
