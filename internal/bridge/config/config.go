// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package config is what the operator tells a bridge: whose it is and which
// servers stand behind it. Both sides use this package, so that what one
// encodes the other accepts.
//
// The package is pure and uses the standard library alone, because the bridge
// links nothing of Kubernetes.
package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"slices"
)

// maxAttempts bounds how often a call is made: more only load a server that is
// in trouble already.
const maxAttempts = 5

var (
	// userIDPattern repeats the API's rule for a user id, which this package
	// cannot import. The id becomes a path segment, so it is checked here too.
	userIDPattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	// serverNamePattern is wider than the API's rule for names in a manifest:
	// a bridge that runs without Kubernetes takes the names of other tools'
	// configuration files. The limit keeps prefixed tool names short.
	serverNamePattern = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9 ._-]{0,62}[A-Za-z0-9])?$`)
	// headerNamePattern and reservedHeaders repeat the API's rules for a
	// header: what belongs to HTTP, MCP or the bridge itself cannot be set. The
	// bridge's own tell of loops, and traces come from whoever calls.
	headerNamePattern = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,62}[A-Za-z0-9])?$`)
	reservedHeaders   = []string{
		"host", "connection", "content-length", "content-type", "content-encoding",
		"transfer-encoding", "te", "trailer", "upgrade", "expect", "accept", "accept-encoding",
		"keep-alive", "proxy-authorization", "proxy-connection", "last-event-id",
		"traceparent", "tracestate",
	}
	reservedPrefixes = []string{"mcp-", "hosted-bridge-"}
	// variablePattern is POSIX' rule for an environment variable's name, with
	// the lower-case letters that some servers use.
	variablePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
	// hashPattern is how a recipe writes the fingerprint of its server's tools.
	hashPattern = regexp.MustCompile(`^sha256-[0-9a-f]{64}$`)
	// versionPattern is that of all of MCP's protocol versions.
	versionPattern = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)
	// fileNamePattern lets no name through that leads out of a folder.
	fileNamePattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)
)

// Config is one bridge's configuration.
type Config struct {
	// UserID is the user in the bridge's URL, /u/{userID}/mcp.
	UserID string `json:"userID"`
	// BridgeUID is the UID of the HostedBridge, which its certificate names.
	BridgeUID string `json:"bridgeUID"`
	// Mode is how the tools are shown. Empty is Direct.
	Mode Mode `json:"mode,omitempty"`
	// ToolPrefix is when a name carries its server's in mode Direct. Empty is
	// PrefixAlways. With one server no name ever does.
	ToolPrefix Prefix `json:"toolPrefix,omitempty"`
	// Egress is where the bridge's own connections may go.
	Egress Egress `json:"egress,omitzero"`
	// Servers are the upstreams, in the order in which lists show them.
	Servers []Server `json:"servers"`
}

// Mode is how a bridge shows its servers' tools.
type Mode string

// The modes.
const (
	// Direct lists every tool.
	Direct Mode = "direct"
	// Router lists one tool, by which the others are found and called.
	Router Mode = "router"
)

// Prefix is when the name of a tool or prompt carries its server's, where
// there are several servers.
type Prefix string

// The rules.
const (
	PrefixAlways Prefix = "always"
	// PrefixAuto prefixes the names that more than one server has.
	PrefixAuto Prefix = "auto"
	// PrefixNever tells equal names apart by a number.
	PrefixNever Prefix = "never"
)

// Egress is where a bridge's connections to servers may go. The zero Egress
// lets none reach an address that is not public.
type Egress struct {
	// Allow are address ranges that may be reached though they are not public,
	// in CIDR notation.
	Allow []string `json:"allow,omitempty"`
	// Deny are address ranges that are never reached, in CIDR notation, also
	// where they are public, allowed or within a range that is.
	Deny []string `json:"deny,omitempty"`
	// Unrestricted allows every address but those of Deny: on a person's own
	// machine there is nothing that this would protect from them.
	Unrestricted bool `json:"unrestricted,omitempty"`
}

// Parse reads an encoded configuration. It refuses unknown fields, anything
// after the value and whatever Validate refuses.
func Parse(b []byte) (Config, error) {
	decoder := json.NewDecoder(bytes.NewReader(b))
	decoder.DisallowUnknownFields()
	var c Config
	if err := decoder.Decode(&c); err != nil {
		return Config{}, fmt.Errorf("parse bridge configuration: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Config{}, errors.New("parse bridge configuration: data after the value")
	}
	if err := c.Validate(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// Encode returns the configuration as Parse reads it. Equal configurations
// encode to equal bytes, so that an unchanged one does not restart a pod.
func (c Config) Encode() ([]byte, error) {
	if c.Servers == nil {
		c.Servers = []Server{}
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	b, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode bridge configuration: %w", err)
	}
	return b, nil
}

// Validate reports the first thing that is wrong with the configuration. Its
// errors name the field and the server, never a URL or a header's value, which
// may hold a token.
func (c Config) Validate() error {
	if !userIDPattern.MatchString(c.UserID) {
		return fmt.Errorf("bridge configuration: userID %.80q is not a DNS label", c.UserID)
	}
	if c.BridgeUID == "" {
		return errors.New("bridge configuration: bridgeUID is empty")
	}
	if err := c.validateChoices(); err != nil {
		return fmt.Errorf("bridge configuration: %w", err)
	}
	seen := make(map[string]bool, len(c.Servers))
	for i, s := range c.Servers {
		if !serverNamePattern.MatchString(s.Name) {
			return fmt.Errorf("bridge configuration: servers[%d].name %.80q is not valid", i, s.Name)
		}
		if seen[s.Name] {
			return fmt.Errorf("bridge configuration: servers[%d].name %q is used twice", i, s.Name)
		}
		seen[s.Name] = true
		if err := s.validate(); err != nil {
			return fmt.Errorf("bridge configuration: server %q: %w", s.Name, err)
		}
	}
	return nil
}

func (c Config) validateChoices() error {
	if !slices.Contains([]Mode{"", Direct, Router}, c.Mode) {
		return fmt.Errorf("mode %.80q is neither %s nor %s", c.Mode, Direct, Router)
	}
	if !slices.Contains([]Prefix{"", PrefixAlways, PrefixAuto, PrefixNever}, c.ToolPrefix) {
		return fmt.Errorf("toolPrefix %.80q is none of %s, %s and %s", c.ToolPrefix, PrefixAlways, PrefixAuto, PrefixNever)
	}
	if err := validateRanges("egress.allow", c.Egress.Allow); err != nil {
		return err
	}
	return validateRanges("egress.deny", c.Egress.Deny)
}

func validateRanges(field string, ranges []string) error {
	for i, cidr := range ranges {
		if _, err := netip.ParsePrefix(cidr); err != nil {
			return fmt.Errorf("%s[%d] %.80q is not an address range such as 10.0.0.0/8", field, i, cidr)
		}
	}
	return nil
}
