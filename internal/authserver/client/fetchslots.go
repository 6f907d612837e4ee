// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

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
	// maxFetches is how many documents are fetched at once. A fetch takes about
	// 100 KiB, for as long as its server likes, up to timeout.
	maxFetches = 64
	// maxSiteFetches is how many of these may be of one site. The owner of a slow
	// server cannot take the slots of all others.
	maxSiteFetches = 2
	// slotWait is how long a fetch waits for a slot. Most fetches take less than half
	// a second, so that a slot becomes free in this time.
	slotWait = 2 * time.Second
)

// errBusy says that all slots are taken. The caller is not at fault.
var errBusy = errors.New("too many documents of clients are being fetched")

// fetchSlots limit the fetches at once, together and for each site.
type fetchSlots struct {
	all chan struct{}

	mu    sync.Mutex
	sites map[string]*site // The sites with a fetch that has a slot or waits for one.
}

type site struct {
	taken chan struct{}
	users int
}

func newFetchSlots() *fetchSlots {
	return &fetchSlots{all: make(chan struct{}, maxFetches), sites: map[string]*site{}}
}

// take takes a slot for a fetch from a site, until the caller releases it. A fetch
// that waits for its site takes no slot of another site meanwhile.
func (f *fetchSlots) take(ctx context.Context, name string) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, slotWait)
	defer cancel()
	s := f.enter(name)
	select {
	case s.taken <- struct{}{}:
	case <-ctx.Done():
		f.exit(name)
		return nil, errBusy
	}
	select {
	case f.all <- struct{}{}:
	case <-ctx.Done():
		<-s.taken
		f.exit(name)
		return nil, errBusy
	}
	return func() {
		<-f.all
		<-s.taken
		f.exit(name)
	}, nil
}

func (f *fetchSlots) enter(name string) *site {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sites[name]
	if s == nil {
		s = &site{taken: make(chan struct{}, maxSiteFetches)}
		f.sites[name] = s
	}
	s.users++
	return s
}

func (f *fetchSlots) exit(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sites[name].users--; f.sites[name].users == 0 {
		delete(f.sites, name)
	}
}

// sitePrefix is how many bits of an IPv6 address name one site: customers commonly get
// no larger network than that.
const sitePrefix = 48

// siteOf returns the site of a client's id: the registered domain of its host, whose
// owner has as many host names as they like, or the network of its address.
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
	bits := sitePrefix
	if a.Is4() {
		bits = a.BitLen()
	}
	return netip.PrefixFrom(a, bits).Masked()
}
