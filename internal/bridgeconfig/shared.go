// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeconfig

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// sharedPattern is that of the names of SharedServers, which are the names of labels of DNS.
var sharedPattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// SharedSecret returns the name under which a pod gets a secret of a SharedServer, which was
// set for this origin: shared/<server>/<secret>@<origin>. No secret of a user has such a name.
// With the origin in the name, a server at another one does not find the secret.
func SharedSecret(server, secret, origin string) string {
	return "shared/" + server + "/" + secret + "@" + origin
}

// Origin returns scheme, host and port of an absolute http or https URL in one spelling, and
// nothing for any other text.
func Origin(text string) string {
	u, err := url.Parse(text)
	if err != nil || !validURL(text) {
		return ""
	}
	scheme, host, port := strings.ToLower(u.Scheme), strings.ToLower(u.Hostname()), u.Port()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != "" && (scheme != "http" || port != "80") && (scheme != "https" || port != "443") {
		host += ":" + port
	}
	return scheme + "://" + host
}

// Held returns the name under which the bridge holds a secret of this server: the secret's
// own, or that of a SharedServer's secret at the origin of the server's URL.
func (s Server) Held(secret string) string {
	if s.Shared == "" {
		return secret
	}
	return SharedSecret(s.Shared, secret, Origin(s.URL))
}

// Credential is whose secrets the server is used with, if they are not the user's: shared/ and
// the name of a SharedServer.
func (s Server) Credential() string {
	if s.Shared == "" {
		return ""
	}
	return "shared/" + s.Shared
}

func (s Server) validateShared() error {
	switch {
	case s.Shared == "":
		return nil
	case !named(s.Shared, sharedPattern, maxLabel):
		return fmt.Errorf("shared %.80q is not the name of a SharedServer", s.Shared)
	case s.Kind() == Stdio, s.OAuth != nil:
		return errors.New("a shared server is reached over HTTP and has no oauth")
	}
	return nil
}
