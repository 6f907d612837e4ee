// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package clientdoc

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/publicsuffix"
)

const (
	// atOnce is how many documents are fetched at once, which takes some 100 KiB
	// each for as long as a server likes, up to timeout.
	atOnce = 64
	// atOnceOfSite is how many of those are of one site. Who has a slow server takes
	// these, and not the places of all others.
	atOnceOfSite = 2
	// patience is how long a document waits for a place. Most are fetched in less
	// than half a second, so that it is one that others do not keep taken.
	patience = 2 * time.Second
)

// errBusy is that others have all places. It is nobody's fault who hears of it.
var errBusy = errors.New("too many documents of clients are being fetched")

// places are those for documents that are fetched.
type places struct {
	all chan struct{}

	mu   sync.Mutex
	site map[string]*site // Those that somebody has a place at, or waits for one.
}

type site struct {
	taken chan struct{}
	users int
}

func newPlaces() *places {
	return &places{all: make(chan struct{}, atOnce), site: map[string]*site{}}
}

// take takes a place for a document of a site, until it is left. Whoever waits for
// their site does not take another's place meanwhile.
func (p *places) take(ctx context.Context, name string) (leave func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s := p.enter(name)
	select {
	case s.taken <- struct{}{}:
	case <-ctx.Done():
		p.exit(name)
		return nil, errBusy
	}
	select {
	case p.all <- struct{}{}:
	case <-ctx.Done():
		<-s.taken
		p.exit(name)
		return nil, errBusy
	}
	return func() {
		<-p.all
		<-s.taken
		p.exit(name)
	}, nil
}

func (p *places) enter(name string) *site {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.site[name]
	if s == nil {
		s = &site{taken: make(chan struct{}, atOnceOfSite)}
		p.site[name] = s
	}
	s.users++
	return s
}

func (p *places) exit(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.site[name].users--; p.site[name].users == 0 {
		delete(p.site, name)
	}
}

// networkOf is how many bits of an address of IPv6 are one site: the most that
// are commonly given to one customer.
const networkOf = 48

// siteOf returns whose a client's id is: the domain that somebody registered, of
// which they have as many names as they like.
func siteOf(id string) string {
	u, err := url.Parse(id)
	if err != nil {
		return ""
	}
	host := strings.TrimRight(strings.ToLower(u.Hostname()), ".")
	if a, err := netip.ParseAddr(host); err == nil {
		return network(a.Unmap().WithZone("")).String()
	}
	if domain, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return domain
	}
	return host
}

func network(a netip.Addr) netip.Prefix {
	bits := networkOf
	if a.Is4() {
		bits = a.BitLen()
	}
	return netip.PrefixFrom(a, bits).Masked()
}
