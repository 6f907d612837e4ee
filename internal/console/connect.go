// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"encoding/base64"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/jsondoc"
)

// connectPage says how apps are set up.
type connectPage struct {
	frame

	URL, AppName string
	// Logins is whether apps can log in; else they need a key.
	Logins bool
	// Local is whether the URL is one of this machine, which services of others do not
	// reach.
	Local bool
	// Cursor and VSCode are the links by which these apps install the bridge.
	Cursor, VSCode template.URL
	ClaudeCode     string
	Config         string
}

// connect is the page on which a person sets an app up.
func (h *serverPages) connect(v *visit) error {
	p := &connectPage{frame: frame{Title: "Connect an app", Path: pathConnect}, URL: h.userURL(v), Logins: h.Login != "", AppName: appName(h.Name)}
	p.Local = strings.HasPrefix(p.URL, "http://")
	if p.Logins {
		p.Cursor = template.URL("cursor://anysphere.cursor-deeplink/mcp/install?name=" + url.QueryEscape(p.AppName) + "&config=" + //nolint:gosec // All of it is escaped.
			url.QueryEscape(base64.StdEncoding.EncodeToString(jsondoc.EncodeExact(map[string]string{"url": p.URL}))))
		p.VSCode = template.URL("vscode:mcp/install?" + url.PathEscape(string(jsondoc.EncodeExact(map[string]string{"name": p.AppName, "type": "http", "url": p.URL})))) //nolint:gosec // As above.
	}
	p.ClaudeCode = "claude mcp add --transport http " + p.AppName + " " + p.URL
	if !p.Logins {
		p.ClaudeCode += ` --header "Authorization: Bearer $KEY"`
	}
	return h.show(v, "connect", http.StatusOK, p)
}

var notOfAppName = regexp.MustCompile(`[^a-z0-9]+`)

// appName returns the installation's name as apps take it for the name of a server.
func appName(name string) string {
	if name = strings.Trim(notOfAppName.ReplaceAllString(strings.ToLower(name), "-"), "-"); name != "" {
		return name
	}
	return "bridge"
}
