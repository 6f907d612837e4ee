// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import "time"

// Installation returns the entry of an installation itself, whose users' bridges are
// all at one URL. It has that version since the time at.
func Installation(name, url, version string, at time.Time) Response {
	return Response{
		Server: Server{
			Schema: schema, Name: name, Title: "hosted-bridge", Version: version,
			Description: "Your own bridge: all of your MCP servers behind one URL.",
			Remotes:     []Remote{{Type: "streamable-http", URL: url}},
		},
		Meta: Meta{Official: Official{Status: active, StatusChangedAt: at.UTC(), PublishedAt: at.UTC(), UpdatedAt: at.UTC(), IsLatest: true}},
	}
}
