// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
)

// Origins decides from where browsers may call. A page that an attacker has
// rebound to our address sends its own Origin and the matching Host, so that
// equality of the two proves nothing unless the Host is one that we know.
type Origins struct {
	allowed map[string]bool
	hosts   map[string]bool
}

// NewOrigins returns the check for the given origins, such as
// "https://app.example.com", and host names without port. Without host names
// any Host is served.
func NewOrigins(allowed, hosts []string) (*Origins, error) {
	o := &Origins{allowed: make(map[string]bool, len(allowed)), hosts: make(map[string]bool, len(hosts))}
	for _, origin := range allowed {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != origin {
			return nil, fmt.Errorf("allowed origin %q must be a scheme and a host, such as https://app.example.com", origin)
		}
		o.allowed[strings.ToLower(origin)] = true
	}
	for _, host := range hosts {
		if host == "" || strings.ContainsAny(host, "/:@ ") {
			return nil, fmt.Errorf("allowed host %q must be a host name without port", host)
		}
		o.hosts[strings.ToLower(host)] = true
	}
	return o, nil
}

// Any reports whether pages of any other origin may call.
func (o *Origins) Any() bool { return len(o.allowed) > 0 }

// Check returns nil, problems.HostNotAllowed or problems.OriginNotAllowed.
func (o *Origins) Check(r *http.Request) error {
	if err := o.CheckHost(r); err != nil {
		return err
	}
	values := r.Header["Origin"]
	if len(values) == 0 {
		return nil
	}
	if o.Configured(values) != "" || len(values) == 1 && o.sameHost(values[0], r.Host) {
		return nil
	}
	return problems.OriginNotAllowed
}

// CheckHost returns nil or problems.HostNotAllowed. It is all that is asked of what
// any page may read.
func (o *Origins) CheckHost(r *http.Request) error {
	if len(o.hosts) > 0 && !o.hosts[hostname(r.Host)] {
		return problems.HostNotAllowed
	}
	return nil
}

// Configured returns the one origin of a request's header if it is one of the
// configured ones, as it was sent, and otherwise nothing.
func (o *Origins) Configured(values []string) string {
	if len(values) == 1 && o.allowed[strings.ToLower(values[0])] {
		return values[0]
	}
	return ""
}

// sameHost reports whether origin is the page that this service itself would
// serve under host, and host is one that no attacker's DNS can point here: a
// configured name, or where none is configured an address or localhost.
func (o *Origins) sameHost(origin, host string) bool {
	u, err := url.Parse(origin)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Scheme+"://"+u.Host != origin {
		return false
	}
	port := ":80"
	if u.Scheme == "https" {
		port = ":443"
	}
	if !strings.EqualFold(strings.TrimSuffix(u.Host, port), strings.TrimSuffix(host, port)) {
		return false
	}
	name := hostname(host)
	if len(o.hosts) > 0 {
		return o.hosts[name]
	}
	_, err = netip.ParseAddr(name)
	return err == nil || name == "localhost"
}

// hostname returns the lower-case name in a Host header, without port.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}
