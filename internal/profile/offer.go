// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// maxOffer is the longest offer in bytes, so that a BridgeRequest can have it: the API server
// counts at most as many characters. A digest replaces the end of a longer one.
const maxOffer = 1024

// Offered returns what an entry of a profile offers, as a user asks for it and an
// administrator approves it: where the server comes from, in whatever version and with
// whatever settings. An approval of one offer does not count for another one.
func (s Sharing) Offered(entry v1alpha1.ProfileServer) string {
	switch {
	case entry.Recipe != nil:
		return "recipe " + entry.Recipe.Name
	case entry.Shared == nil:
		return bounded(transportOffered(entry.Transport))
	}
	offer := "SharedServer " + entry.Shared.Name
	at := slices.IndexFunc(s.servers, func(o v1alpha1.SharedServer) bool { return o.Name == entry.Shared.Name })
	if at >= 0 {
		offer += ", " + transportOffered(s.servers[at].Spec.Server.Transport)
	}
	return bounded(offer)
}

// transportOffered returns the URL without its query, or the package or image of a program
// without its version. Where nothing but the command says what the program is, it has all of it.
func transportOffered(t v1alpha1.Transport) string {
	p := t.Stdio
	if p == nil {
		return endpoint(t.URL)
	}
	var parts []string
	if p.Install != nil {
		parts = append(parts, string(p.Install.Method)+" "+p.Install.Package)
	}
	if p.Image != "" {
		parts = append(parts, "image "+repository(p.Image))
	}
	command := p.Command
	if p.Install == nil {
		command = slices.Concat(command, p.Args)
	}
	if len(command) > 0 {
		parts = append(parts, fmt.Sprintf("command %q", command))
	}
	return strings.Join(parts, ", ")
}

func endpoint(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	return oauth.Origin(text) + u.EscapedPath()
}

// repository returns the reference of an image without its tag and digest.
func repository(image string) string {
	name, _, _ := strings.Cut(image, "@")
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, '/') {
		name = name[:colon]
	}
	return name
}

func bounded(offer string) string {
	if len(offer) <= maxOffer {
		return offer
	}
	end := fmt.Sprintf("… sha256:%x", sha256.Sum256([]byte(offer)))
	return strings.ToValidUTF8(offer[:maxOffer-len(end)], "") + end
}
