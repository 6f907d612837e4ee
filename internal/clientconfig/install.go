// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package clientconfig

import (
	"cmp"
	"encoding/base64"
	"net/url"
	"slices"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
)

// Link is a link by which a program on the person's machine installs a bridge.
type Link struct {
	// Title is the program that opens, and URL begins with a scheme of its own.
	Title, URL string
}

// links returns the links of a client, none for one that documents none. The forms are those
// of the clients' documentation, as of November 2026:
//   - Cursor: https://cursor.com/docs/mcp/install-links
//   - VS Code: as handleMcpInstallUri of https://github.com/microsoft/vscode reads it, with name and
//     inputs beside the entry; vscode-insiders: is the scheme of VS Code Insiders
//   - LM Studio: https://lmstudio.ai/docs/app/mcp/deeplink
//
// No link has a key of the environment's: the client reads or asks for it.
func (c Client) links(b Bridge) []Link {
	entry, err := c.Entry(b)
	if err != nil {
		return nil
	}
	switch c.Name {
	case "cursor":
		return []Link{{c.Title, "cursor://anysphere.cursor-deeplink/mcp/install?name=" + b.Name + "&config=" + encoded(entry)}}
	case "lmstudio":
		return []Link{{c.Title, "lmstudio://add_mcp?name=" + b.Name + "&config=" + encoded(entry)}}
	case "vscode":
		entry.Members = append([]jsondoc.Member{text("name", b.Name)}, entry.Members...)
		if b.Keyed && b.Key == "" {
			entry.Members = append(entry.Members, slices.Clone(c.inputs)...)
		}
		config, _ := entry.MarshalJSON() // Texts can always be encoded.
		asked := ":mcp/install?" + url.PathEscape(string(config))
		return []Link{{c.Title, "vscode" + asked}, {c.Title + " Insiders", "vscode-insiders" + asked}}
	}
	return nil
}

// encoded returns an entry as the links of Cursor and LM Studio have it.
func encoded(entry jsondoc.Value) string {
	config, _ := entry.MarshalJSON() // Texts can always be encoded.
	return url.QueryEscape(base64.StdEncoding.EncodeToString(config))
}

// gooseLinks returns the link of Goose, with the parameters of documentation/docs in
// https://github.com/aaif-goose/goose: getting-started/using-extensions.md has those of
// Streamable HTTP, and mcp/github-mcp.md has header.
func gooseLinks(b Bridge) []Link {
	const escaped = "&id=" + HostedName + "&name=" + HostedName + "&description=hosted-bridge"
	link := "goose://extension?type=streamable_http&url=" + url.QueryEscape(b.URL) + escaped
	if b.Keyed {
		link += "&header=" + url.PathEscape("Authorization=Bearer "+cmp.Or(b.Key, ownKey))
	}
	return []Link{{"Goose", link}}
}
