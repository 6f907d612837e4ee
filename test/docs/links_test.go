// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestEveryLinkLeadsSomewhere looks for the file and the anchor of each link
// within the repository.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	pages := must.Value(Pages(Root))(t)
	anchors := map[string][]string{}
	for _, page := range pages {
		anchors[page.Path] = page.Anchors
	}
	for _, page := range pages {
		for _, link := range page.Links {
			if problem := follow(page.Path, link.Target, anchors); problem != "" {
				t.Errorf("%s:%d: %s: %s", page.Path, link.Line, link.Target, problem)
			}
		}
	}
}

// follow returns what is wrong with a link.
func follow(from, target string, anchors map[string][]string) string {
	u, err := url.Parse(target)
	if err != nil {
		return err.Error()
	}
	if u.IsAbs() {
		return ""
	}
	to := from
	if u.Path != "" {
		to = path.Join(path.Dir(from), u.Path)
		if strings.HasPrefix(to, "..") {
			return "leads out of the repository"
		}
		if _, err := os.Stat(filepath.Join(Root, to)); err != nil {
			return "there is no such file"
		}
	}
	if u.Fragment != "" && path.Ext(to) == ".md" && !slices.Contains(anchors[to], u.Fragment) {
		return "the page has no such heading"
	}
	return ""
}

// TestEveryPageIsLedTo finds pages that no other page leads to.
func TestEveryPageIsLedTo(t *testing.T) {
	pages := must.Value(Pages(Root))(t)
	led := map[string]bool{"README.md": true}
	for _, page := range pages {
		for _, link := range page.Links {
			target, _, _ := strings.Cut(link.Target, "#")
			to := path.Join(path.Dir(page.Path), target)
			if to != page.Path {
				led[to] = true
			}
		}
	}
	for _, page := range pages {
		if !led[page.Path] {
			t.Errorf("no page leads to %s", page.Path)
		}
	}
}
