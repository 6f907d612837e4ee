// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bridgeconfig is the configuration that the operator gives to a bridge: its user and its
// servers. Both sides use this package, so that one accepts what the other encodes.
//
// The package is pure and uses only the standard library, because the bridge links nothing of
// Kubernetes.
package bridgeconfig

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

const (
	// maxAttempts limits the attempts of a call: more attempts only add load to a failing server.
	maxAttempts = 5
	// maxFault limits the fault of a server, in bytes: it is a sentence or two in each error.
	maxFault = 1024
	// maxPending limits the reason of a pending server, in bytes: a report on the bridge's health
	// has as much room for it.
	maxPending = 256
	// The longest names of each kind, in bytes. The patterns have no counted repetitions: each
	// compiles to as many instructions as its count, in every process that links this package.
	maxLabel, maxServerName, maxHeaderName, maxVariable, maxFileName = 63, 64, 64, 128, 128
)

const (
	// LongestToolName is the length of a name that every model provider accepts, in characters.
	LongestToolName = 64
	// DefaultToolNameLength is ToolNameLength of bridges that are new. Clients put a prefix before
	// names. The longest one in our documentation is mcp__hosted-bridge__ of Claude Code, with 20
	// characters.
	DefaultToolNameLength = LongestToolName - len("mcp__hosted-bridge__")
	// ShortestToolName is the least that names can be limited to: a name that is cut has a hash of 9
	// characters, and a model should still recognize the rest.
	ShortestToolName = 32
)

var (
	// userIDPattern repeats the API's rule for a user id, because this package cannot import it.
	// The id becomes a path segment, so it is checked here too.
	userIDPattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	// serverNamePattern permits more than the API's rule for names in a manifest: a local bridge
	// accepts the names in other tools' configuration files. The maximum length keeps prefixed
	// tool names short.
	serverNamePattern = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9 ._-]*[A-Za-z0-9])?$`)
	// headerNamePattern and reservedHeaders repeat the API's rules for a header: headers of HTTP,
	// MCP and the bridge itself cannot be set. The bridge's own headers detect loops, and trace
	// headers come from the caller.
	headerNamePattern = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$`)
	reservedHeaders   = []string{
		"host", "connection", "content-length", "content-type", "content-encoding",
		"transfer-encoding", "te", "trailer", "upgrade", "expect", "accept", "accept-encoding",
		"keep-alive", "proxy-authorization", "proxy-connection", "last-event-id",
		"traceparent", "tracestate",
	}
	reservedPrefixes = []string{"mcp-", "hosted-bridge-"}
	// variablePattern is POSIX' rule for the name of an environment variable, with the lower-case
	// letters that some servers use.
	variablePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// versionPattern matches all protocol versions of MCP.
	versionPattern = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)
	// fileNamePattern matches no name that leads out of a folder.
	fileNamePattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)
)

// named reports whether a name has the pattern and at most so many bytes.
func named(name string, pattern *regexp.Regexp, longest int) bool {
	return len(name) <= longest && pattern.MatchString(name)
}

// Config is one bridge's configuration.
type Config struct {
	// UserID is the user in the bridge's URL, /u/{userID}/mcp.
	UserID string `json:"userID"`
	// BridgeUID is the UID of the HostedBridge, which its certificate names.
	BridgeUID string `json:"bridgeUID"`
	// Mode says how clients see the tools. The default is Direct.
	Mode Mode `json:"mode,omitempty"`
	// ToolPrefix says when a name gets its server's name as prefix, in mode Direct. The default is
	// PrefixAlways. The names of Unprefixed have no prefix.
	ToolPrefix Prefix `json:"toolPrefix,omitempty"`
	// Unprefixed is the server whose names stay as they are beside other servers, because clients
	// knew them before these came. Empty means no server. Nil is the server of a user who has one.
	Unprefixed *string `json:"unprefixed,omitempty"`
	// ToolNameLength is the longest name of a tool or prompt if there are several servers, in
	// characters; 0 means LongestToolName.
	ToolNameLength int `json:"toolNameLength,omitempty"`
	// StatusTool says when the bridge lists its own tool. The default is StatusAuto.
	StatusTool StatusTool `json:"statusTool,omitempty"`
	// Egress restricts the bridge's own connections.
	Egress Egress `json:"egress,omitzero"`
	// Servers are the upstreams, in the order of the lists.
	Servers []Server `json:"servers"`
	// LeftOut is the number of servers of the user that are not in Servers, because
	// their recipes cannot be used now. Names of tools do not depend on that: one
	// server beside others that are left out has its prefix.
	LeftOut int `json:"leftOut,omitempty"`
}

// Mode says how clients see the tools of a bridge.
type Mode string

// The modes.
const (
	// Direct lists every tool.
	Direct Mode = "direct"
	// Router lists a single tool. With it, clients find and call the others.
	Router Mode = "router"
)

// Prefix says when the name of a tool or prompt gets its server's name as prefix. It has no effect
// on the names of Config.Unprefixed.
type Prefix string

// The rules.
const (
	PrefixAlways Prefix = "always"
	// PrefixAuto adds the prefix to names that several servers have.
	PrefixAuto Prefix = "auto"
	// PrefixNever adds a number to equal names.
	PrefixNever Prefix = "never"
)

// StatusTool says when a bridge of several servers in mode Direct lists its own tool, which says what
// servers are out of service, and why.
type StatusTool string

// The rules.
const (
	// StatusAuto lists the tool while a server is out of service.
	StatusAuto  StatusTool = "auto"
	StatusNever StatusTool = "never"
)

// Egress restricts the addresses that a bridge's connections to servers may reach. The zero Egress
// permits public addresses only.
type Egress struct {
	// Allow are permitted address ranges that are not public, in CIDR notation.
	Allow []string `json:"allow,omitempty"`
	// Deny are forbidden address ranges, in CIDR notation. They take precedence over Allow and
	// over public addresses.
	Deny []string `json:"deny,omitempty"`
	// Unrestricted permits every address except those in Deny: on a person's own machine, a
	// restriction would protect nothing.
	Unrestricted bool `json:"unrestricted,omitempty"`
}

// Parse parses an encoded configuration. It refuses unknown fields, trailing data and invalid
// configurations.
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

// Single reports whether the user has one server, with those that are left out, and its names
// have no prefix.
func (c Config) Single() bool {
	if len(c.Servers)+c.LeftOut != 1 {
		return false
	}
	return c.Unprefixed == nil || len(c.Servers) == 1 && c.Servers[0].Name == *c.Unprefixed
}

// Encode returns the configuration in the format of Parse. Equal configurations have equal bytes,
// so that an unchanged configuration does not restart a pod.
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

// Validate returns the first error in the configuration. Its errors name the field and the server,
// but never a URL or a header's value, which may contain a token.
func (c Config) Validate() error {
	if !named(c.UserID, userIDPattern, maxLabel) {
		return fmt.Errorf("bridge configuration: userID %.80q is not a DNS label", c.UserID)
	}
	if c.BridgeUID == "" {
		return errors.New("bridge configuration: bridgeUID is empty")
	}
	if err := c.validateChoices(); err != nil {
		return fmt.Errorf("bridge configuration: %w", err)
	}
	if c.LeftOut < 0 {
		return errors.New("bridge configuration: leftOut is negative")
	}
	seen := make(map[string]bool, len(c.Servers))
	for i, s := range c.Servers {
		if !named(s.Name, serverNamePattern, maxServerName) {
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
		return fmt.Errorf("toolPrefix %.80q must be one of %s, %s and %s", c.ToolPrefix, PrefixAlways, PrefixAuto, PrefixNever)
	}
	if s := c.Unprefixed; s != nil && *s != "" && !named(*s, serverNamePattern, maxServerName) {
		return fmt.Errorf("unprefixed %.80q is not the name of a server", *s)
	}
	if !slices.Contains([]StatusTool{"", StatusAuto, StatusNever}, c.StatusTool) {
		return fmt.Errorf("statusTool %.80q is neither %s nor %s", c.StatusTool, StatusAuto, StatusNever)
	}
	if n := c.ToolNameLength; n != 0 && (n < ShortestToolName || n > LongestToolName) {
		return fmt.Errorf("toolNameLength %d is not between %d and %d", n, ShortestToolName, LongestToolName)
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
