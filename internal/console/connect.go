// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"html/template"
	"net/http"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/clientconfig"
)

// connectPage says how apps are set up.
type connectPage struct {
	frame

	URL string
	// Logins is whether apps can log in here. Keyed is whether those of the person are shown with
	// a key: there are no logins, or the person is here by a key, and may have no login.
	Logins, Keyed bool
	// Local is whether the URL is one of this machine, which services of others do not
	// reach.
	Local bool
	Apps  []clientSetup
}

// clientSetup is a program that a person sets up.
type clientSetup struct {
	clientconfig.Steps

	Install []install
}

// install is a link by which a program installs the bridge.
type install struct {
	Title string
	URL   template.URL
}

// connect is the page on which a person sets an app up.
func (h *serverPages) connect(v *visit) error {
	p := &connectPage{frame: frame{Title: "Connect an app", Path: pathConnect}, URL: h.userURL(v), Logins: h.Login != ""}
	p.Keyed = !p.Logins || v.session.Subject == nil
	p.Local = strings.HasPrefix(p.URL, "http://")
	for _, s := range clientconfig.Hosted(clientconfig.Bridge{URL: p.URL, Keyed: p.Keyed}) {
		a := clientSetup{Steps: s}
		for _, link := range s.Links {
			a.Install = append(a.Install, install{link.Title, template.URL(link.URL)}) //nolint:gosec // All of it is escaped.
		}
		p.Apps = append(p.Apps, a)
	}
	return h.show(v, "connect", http.StatusOK, p)
}
