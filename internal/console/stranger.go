// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// strangerPage tells a person what the address is for that their browser opened.
type strangerPage struct {
	frame

	Text string
	// App is whether the address is one of users' bridges, and Address the one that apps
	// take, empty if the path names no user.
	App     bool
	Address string
}

// userPath is a path of a user's bridge, or of nothing below it.
var userPath = regexp.MustCompile(`^/u/(` + strings.Trim(v1alpha1.UserIDPattern, "^$") + `)(/.*)?$`)

// showStranger answers a person's browser at an address of programs, or at one that nothing
// serves. The page depends on the address and the problem alone, which are the same whether
// or not there is such a user, and never on a session.
func (c *core) showStranger(w http.ResponseWriter, r *http.Request, problem *httpapi.Problem) error {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	p := &strangerPage{frame: frame{Title: problem.Title(), Small: true}, Text: problem.Detail}
	switch {
	case problem.Status != http.StatusUnauthorized && problem.Status != http.StatusNotFound && problem.Status != http.StatusMethodNotAllowed:
	case path == "/mcp" || strings.HasPrefix(path, "/u/"):
		p.Title, p.App = "This address is for your apps", true
		p.Text = "MCP clients such as Claude, Cursor, VS Code or ChatGPT use it to reach your bridge. It has no page for a browser."
		if found := userPath.FindStringSubmatch(path); found != nil {
			p.Address = originOf(r, c.BaseURL) + "/u/" + found[1] + "/mcp"
		} else if path == "/mcp" {
			p.Address = originOf(r, c.BaseURL) + path
		}
	case problem.Status == http.StatusNotFound:
		p.Text = errNotFound.Detail
	default:
		p.Title, p.Text = "This address is for programs", "Programs use it with a key. In a browser, begin at the first page."
	}
	return c.write(w, "stranger", problem.Status, p)
}
