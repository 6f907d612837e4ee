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
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/bridge/template"
)

// EnvName is the environment variable that carries the encoded configuration
// into the bridge's pod.
const EnvName = "BRIDGE_CONFIG"

var (
	// userIDPattern repeats the API's rule for a user id, which this package
	// cannot import. The id becomes a path segment, so it is checked here too.
	userIDPattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	// serverNamePattern is wider than the API's rule for names in a manifest:
	// a bridge that runs without Kubernetes takes the names of other tools'
	// configuration files. The limit keeps prefixed tool names short.
	serverNamePattern = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9 ._-]{0,62}[A-Za-z0-9])?$`)
	// headerNamePattern and reservedHeaders repeat the API's rules for a
	// header: what belongs to HTTP or MCP itself cannot be set.
	headerNamePattern = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,62}[A-Za-z0-9])?$`)
	reservedHeaders   = []string{
		"host", "connection", "content-length", "content-type", "content-encoding",
		"transfer-encoding", "te", "trailer", "upgrade", "expect", "accept", "accept-encoding",
		"keep-alive", "proxy-authorization", "proxy-connection", "last-event-id",
	}
)

// Config is one bridge's configuration.
type Config struct {
	// UserID is the user in the bridge's URL, /u/{userID}/mcp.
	UserID string `json:"userID"`
	// BridgeUID is the UID of the HostedBridge, which its certificate names.
	BridgeUID string `json:"bridgeUID"`
	// Servers are the upstreams, in the order in which lists show them.
	Servers []Server `json:"servers"`
}

// Server is one upstream, reached over streamable HTTP.
type Server struct {
	// Name is unique within the bridge and prefixes the server's tools where
	// there are several servers.
	Name string `json:"name"`
	// URL is the server's endpoint, http or https, without credentials.
	URL string `json:"url"`
	// Headers are sent with every request to the server, in this order. Their
	// values may name secrets of the user, as ${NAME}.
	Headers []Header `json:"headers,omitempty"`
	// Secrets are the names of the user's secrets that this server may use.
	Secrets []string `json:"secrets,omitempty"`
}

// Required returns the secrets without which the server is out of service: all
// that it may use, except those that only stand in headers with a default.
func (s Server) Required() []string {
	optional, required := map[string]bool{}, map[string]bool{}
	for _, h := range s.Headers {
		t, err := template.Parse(h.Value)
		if err != nil {
			continue // Validate refuses it.
		}
		for _, name := range t.Names() {
			optional[name] = true
		}
		for _, name := range t.Required() {
			required[name] = true
		}
	}
	var names []string
	for _, name := range s.Secrets {
		if required[name] || !optional[name] {
			names = append(names, name)
		}
	}
	return names
}

// Header is one header of every request to a server.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
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
	seen := make(map[string]bool, len(c.Servers))
	for i, s := range c.Servers {
		if !serverNamePattern.MatchString(s.Name) {
			return fmt.Errorf("bridge configuration: servers[%d].name %.80q is not valid", i, s.Name)
		}
		if seen[s.Name] {
			return fmt.Errorf("bridge configuration: servers[%d].name %q is used twice", i, s.Name)
		}
		seen[s.Name] = true
		if !validURL(s.URL) {
			return fmt.Errorf("bridge configuration: url of server %q is not an absolute http or https URL without credentials", s.Name)
		}
		if err := s.validateSecrets(); err != nil {
			return fmt.Errorf("bridge configuration: server %q: %w", s.Name, err)
		}
	}
	return nil
}

// validateSecrets checks which secrets the server is granted, and that its
// headers use no others.
func (s Server) validateSecrets() error {
	for i, name := range s.Secrets {
		if !template.ValidName(name) {
			return fmt.Errorf("secrets[%d] %.80q is not a secret's name", i, name)
		}
		if slices.Contains(s.Secrets[:i], name) {
			return fmt.Errorf("secrets[%d] %q is there twice", i, name)
		}
	}
	for i, h := range s.Headers {
		if err := s.validateHeader(h); err != nil {
			return fmt.Errorf("headers[%d]: %w", i, err)
		}
		for _, other := range s.Headers[:i] {
			if strings.EqualFold(h.Name, other.Name) {
				return fmt.Errorf("headers[%d]: %q is there twice", i, h.Name)
			}
		}
	}
	return nil
}

func (s Server) validateHeader(h Header) error {
	if !headerNamePattern.MatchString(h.Name) {
		return fmt.Errorf("%.80q is not a header's name", h.Name)
	}
	if lower := strings.ToLower(h.Name); slices.Contains(reservedHeaders, lower) || strings.HasPrefix(lower, "mcp-") {
		return fmt.Errorf("%s belongs to HTTP or MCP itself and cannot be set", h.Name)
	}
	t, err := template.Parse(h.Value)
	if err != nil {
		return fmt.Errorf("value of %s: %w", h.Name, err)
	}
	for _, name := range t.Names() {
		if !slices.Contains(s.Secrets, name) {
			return fmt.Errorf("value of %s uses secret %s, which the server is not granted", h.Name, name)
		}
	}
	// Whatever the secrets are, the text around them must fit into a header.
	_, _, err = t.ExpandHeader(h.Name, func(string) (string, bool) { return "", false })
	return err
}

func validURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil {
		return false
	}
	return (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil
}
