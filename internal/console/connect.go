// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"encoding/base64"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/clientconfig"
	"github.com/hostedbridge/hostedbridge/internal/jsondoc"
)

// connectPage says how apps are set up.
type connectPage struct {
	frame

	URL string
	// Logins is whether apps can log in; else they need a key.
	Logins bool
	// Local is whether the URL is one of this machine, which services of others do not
	// reach.
	Local bool
	Apps  []clientSetup
}

// clientSetup is a program that a person sets up. Install is the link by which it installs the bridge
// itself, empty for none.
type clientSetup struct {
	clientconfig.Steps

	Install template.URL
}

// connect is the page on which a person sets an app up.
func (h *serverPages) connect(v *visit) error {
	p := &connectPage{frame: frame{Title: "Connect an app", Path: pathConnect}, URL: h.userURL(v), Logins: h.Login != ""}
	p.Local = strings.HasPrefix(p.URL, "http://")
	for _, s := range clientconfig.Hosted(clientconfig.Bridge{URL: p.URL, Keyed: !p.Logins}) {
		a := clientSetup{Steps: s}
		if p.Logins {
			a.Install = installLink(s.Client, p.URL)
		}
		p.Apps = append(p.Apps, a)
	}
	return h.show(v, "connect", http.StatusOK, p)
}

// installLink returns the link by which a client installs the bridge at a URL, empty for none.
func installLink(client, at string) template.URL {
	const name = clientconfig.HostedName
	switch client {
	case "cursor":
		config := base64.StdEncoding.EncodeToString(jsondoc.EncodeExact(map[string]string{"url": at}))
		link := "cursor://anysphere.cursor-deeplink/mcp/install?name=" + name + "&config=" + url.QueryEscape(config)
		return template.URL(link) //nolint:gosec // All of it is escaped.
	case "vscode":
		config := jsondoc.EncodeExact(map[string]string{"name": name, "type": "http", "url": at})
		return template.URL("vscode:mcp/install?" + url.PathEscape(string(config))) //nolint:gosec // As above.
	}
	return ""
}
