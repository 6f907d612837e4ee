// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package setting

import (
	"bytes"
	"cmp"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Required refuses an empty text.
func Required(value string) error {
	if value == "" {
		return errors.New("the value is empty; give a value")
	}
	return nil
}

// Optional accepts an empty text, and what a check accepts.
func Optional(check Check[string]) Check[string] {
	return func(value string) error {
		if value == "" {
			return nil
		}
		return check(value)
	}
}

// Address accepts where a process listens.
func Address(value string) error {
	if _, _, err := net.SplitHostPort(value); err != nil {
		return fmt.Errorf("%.80q is not an address; give HOST:PORT, or :PORT for all addresses of the machine", value)
	}
	return nil
}

// URL accepts an absolute URL with one of the schemes and a host, without what does not belong to an
// address: a user, a query and a fragment. The error does not have the value, which may have a password.
func URL(schemes ...string) Check[string] {
	return func(value string) error {
		u, err := url.Parse(value)
		if err == nil && slices.Contains(schemes, u.Scheme) && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == "" {
			return nil
		}
		scheme := schemes[len(schemes)-1]
		return fmt.Errorf("the value is not an absolute URL with %s and a host; give one without a user, a query and a fragment, such as %s://host:8443",
			strings.Join(schemes, " or "), scheme)
	}
}

// HTTPS accepts the URL of a server that is reached over TLS.
var HTTPS = URL("https")

// HTTP accepts the URL of a server with or without TLS.
var HTTP = URL("http", "https")

// AtLeast accepts a number or time that is not less than another one.
func AtLeast[T cmp.Ordered](least T) Check[T] {
	return func(value T) error {
		if value < least {
			return fmt.Errorf("%v is too little; give %v or more", value, least)
		}
		return nil
	}
}

// Positive accepts a number or time that is more than 0.
func Positive[T cmp.Ordered](value T) error {
	var none T
	if value <= none {
		return fmt.Errorf("%v is too little; give more than 0", value)
	}
	return nil
}

// Between accepts a number or time from one to another.
func Between[T cmp.Ordered](least, most T) Check[T] {
	return func(value T) error {
		if value < least || value > most {
			return fmt.Errorf("%v is out of range; give %v to %v", value, least, most)
		}
		return nil
	}
}

// OneOf accepts some words alone.
func OneOf(words ...string) Check[string] {
	return func(value string) error {
		if slices.Contains(words, value) {
			return nil
		}
		return fmt.Errorf("%.80q is not known; give %s", value, strings.Join(words, " or "))
	}
}

var label = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// Label accepts the name of a namespace.
func Label(value string) error {
	if !label.MatchString(value) {
		return fmt.Errorf("%.80q is not the name of a namespace; give 1 to 63 lower-case letters, digits and dashes, such as hosted-bridge-system", value)
	}
	return nil
}

// Range accepts a range of addresses, and refuses one that is written as one of its addresses: it may
// be meant for that address alone.
func Range(value string) error {
	prefix, err := netip.ParsePrefix(value)
	if err != nil {
		return fmt.Errorf("%.80q is not an address range; give one such as 10.96.0.0/16 or fd00::/8", value)
	}
	if prefix != prefix.Masked() {
		return fmt.Errorf("%s begins elsewhere; begin at the range's first address, as %s does; one address alone is %s/%d",
			value, prefix.Masked(), prefix.Addr(), prefix.Addr().BitLen())
	}
	return nil
}

var variableName = regexp.MustCompile(`^[A-Za-z_@][A-Za-z0-9_@:./-]*$`)

// Variable accepts a variable of an environment. The error does not have the value.
func Variable(value string) error {
	if name, _, found := strings.Cut(value, "="); !found || !variableName.MatchString(name) {
		return errors.New("the value is not a variable; give NAME=VALUE, such as HTTPS_PROXY=http://proxy.example.com:3128")
	}
	return nil
}

// Certificates accepts certificates in PEM, or none, and refuses a private key among them. Comments
// are fine: bundles of authorities have them.
func Certificates(value string) error {
	for rest := []byte(value); len(bytes.TrimSpace(rest)) > 0; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil || block.Type != "CERTIFICATE" {
			return errors.New("the value is not certificates in PEM alone; give certificates, and nothing else that is in PEM")
		}
	}
	return nil
}
