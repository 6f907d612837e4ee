// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/netguard"
	"github.com/hostedbridge/hostedbridge/internal/version"
)

const (
	// timeout limits a fetch: a person waits for a page meanwhile.
	timeout = 5 * time.Second
	// maxBody is the longest document; real ones have about 1 KiB.
	maxBody = 64 << 10
	// keepAtLeast and keepAtMost limit how long a document is cached, whatever its
	// server says. Meanwhile a redirect URI that the client removed stays valid.
	keepAtLeast, keepAtMost = 5 * time.Minute, time.Hour
	// keepFailure is how long a failed fetch is not repeated: short for a person who
	// corrects a document, and long for a server that somebody makes us call.
	keepFailure = time.Minute
	// keepPast is how long an expired document stays valid while it cannot be fetched
	// again. Its users can log in during an outage of its server, or while somebody
	// takes all slots.
	keepPast = 24 * time.Hour
)

// DocumentOptions are the options of Documents.
type DocumentOptions struct {
	// Allow are ranges of addresses, in CIDR notation, that may be dialled besides
	// public ones, such as the range of a private network with clients in it.
	Allow []string
	// TLS has the roots that servers are verified by; nil for the system's roots.
	TLS *tls.Config
	// Now is the clock, time.Now if nil.
	Now func() time.Time
}

// Documents fetches the documents of clients. It is safe for concurrent use.
type Documents struct {
	client   *http.Client
	now      func() time.Time
	clients  *cache
	failures *cache
	fetching singleflight.Group
	slots    *fetchSlots
}

var _ flow.Documents = (*Documents)(nil)

// NewDocuments returns Documents. It fails if an entry of DocumentOptions.Allow is
// not a range.
func NewDocuments(o DocumentOptions) (*Documents, error) {
	rules, err := netguard.New(o.Allow, nil, false)
	if err != nil {
		return nil, fmt.Errorf("client documents: %w", err)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	d := &Documents{now: o.Now, clients: newCache(maxClients), failures: newCache(maxFailures), slots: newFetchSlots(), client: &http.Client{
		Transport:     newTransport(rules, o.TLS, http.ProxyFromEnvironment),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	return d, nil
}

// errNotPublic says that the guard refused an address. It names neither the address
// nor the host name: callers could explore a private network by it.
var errNotPublic = errors.New("its address is not public and the installation does not allow it")

// newTransport returns a transport that checks every address when it is dialled, so
// that a name cannot pass the check and then resolve to something else. The address
// of a proxy is checked too, and the proxy is never asked for an address that is not
// permitted. It resolves host names itself, by its own rules.
func newTransport(rules netguard.Rules, config *tls.Config, proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	dialer := &net.Dialer{Timeout: timeout}
	dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
		a, err := netip.ParseAddrPort(address)
		if err != nil || !rules.Permits(a.Addr()) {
			return errNotPublic
		}
		return nil
	}
	return &http.Transport{
		Proxy: func(r *http.Request) (*url.URL, error) {
			through, err := proxy(r)
			if err == nil && through != nil && !rules.PermitsHost(r.URL.Hostname()) {
				return nil, errNotPublic
			}
			return through, err
		},
		DialContext:         dialer.DialContext,
		TLSClientConfig:     config,
		TLSHandshakeTimeout: timeout,
		// The next document is on another server.
		DisableKeepAlives: true,
		// The header fields that are read here are short.
		MaxResponseHeaderBytes: maxBody,
	}
}

// Client returns the client whose document is at the URL id. Its error wraps
// flow.ErrClient if the URL or the document is at fault, or the document cannot be
// fetched. Another error says that too many documents are being fetched, which is
// over soon, or that ctx ended.
func (d *Documents) Client(ctx context.Context, id string) (flow.Client, error) {
	if err := checkID(id); err != nil {
		return flow.Client{}, err
	}
	if cached, ok := d.cached(id); ok {
		return cached.client, cached.err
	}
	// The fetch is for all callers that wait. It goes on if one of them leaves.
	fetched := d.fetching.DoChan(id, func() (any, error) {
		// A fetch may have ended since the caller looked.
		if cached, ok := d.cached(id); ok {
			return cached, nil
		}
		return d.fetch(context.WithoutCancel(ctx), id), nil
	})
	select {
	case r := <-fetched:
		found := r.Val.(result)
		return found.client, found.err
	case <-ctx.Done():
		return flow.Client{}, ctx.Err()
	}
}

// cached returns the result of a fetch that has not expired.
func (d *Documents) cached(id string) (result, bool) {
	now := d.now()
	for _, c := range []*cache{d.clients, d.failures} {
		if e, ok := c.get(id, now); ok && now.Before(e.expires) {
			return e.result, true
		}
	}
	return result{}, false
}

// fetch fetches a document, and caches the result.
func (d *Documents) fetch(ctx context.Context, id string) result {
	client, keep, err := d.get(ctx, id)
	now := d.now()
	e := entry{id: id, site: siteOf(id), result: result{client: client}, expires: now.Add(keep)}
	if err == nil {
		e.removed = e.expires.Add(keepPast)
		d.clients.put(e)
		return e.result
	}
	e.err, e.expires = fmt.Errorf("get the client's document: %w", err), now.Add(keepFailure)
	e.removed = e.expires
	busy := errors.Is(err, errBusy)
	if !busy && !errors.Is(err, errUnavailable) {
		d.clients.remove(id) // Its document has changed, or is gone.
	}
	if cached, ok := d.clients.get(id, now); ok {
		cached.expires = e.expires
		d.clients.put(cached)
		return cached.result
	}
	if !busy {
		d.failures.put(e)
	}
	return e.result
}

// errUnavailable says that a document cannot be fetched, so that its content is not
// known.
var errUnavailable = errors.New("its document cannot be had")

func unavailable(reason error) error {
	return fmt.Errorf("%w: %w: %w", flow.ErrClient, errUnavailable, reason)
}

func (d *Documents) get(ctx context.Context, id string) (flow.Client, time.Duration, error) {
	release, err := d.slots.take(ctx, siteOf(id))
	if err != nil {
		return flow.Client{}, 0, err
	}
	defer release()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, id, nil)
	if err != nil {
		return flow.Client{}, 0, faulty("its id is no https URL")
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "hosted-bridge/"+version.String())
	resp, err := d.client.Do(request)
	if errors.Is(err, errNotPublic) {
		return flow.Client{}, 0, faulty(errNotPublic.Error())
	}
	if err != nil {
		return flow.Client{}, 0, unavailable(err)
	}
	defer resp.Body.Close()
	described, err := read(resp)
	if err != nil {
		return flow.Client{}, 0, err
	}
	client, err := described.client(id)
	return client, keepFor(resp.Header.Get("Cache-Control")), err
}

// read reads a document (section 4 of the draft).
func read(resp *http.Response) (document, error) {
	var d document
	if resp.StatusCode != http.StatusOK {
		reason := fmt.Sprintf("its server answers with status %d", resp.StatusCode)
		if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= http.StatusInternalServerError {
			return d, unavailable(errors.New(reason))
		}
		return d, faulty(reason)
	}
	if !isJSON(resp.Header.Get("Content-Type")) {
		return d, faulty("its document is not of the content type application/json")
	}
	content, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case err != nil:
		return d, unavailable(err)
	case len(content) > maxBody:
		return d, faulty(fmt.Sprintf("its document has more than %d KiB", maxBody>>10))
	case json.Unmarshal(content, &d) != nil:
		return d, faulty("its document is no JSON object of a client's metadata")
	}
	return d, nil
}

// isJSON reports whether a content type is JSON, or a format in JSON.
func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && (kind == "application/json" || strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json"))
}

// keepFor returns how long a document is cached whose server sent this header field.
func keepFor(cacheControl string) time.Duration {
	keep := time.Duration(0)
	for directive := range strings.SplitSeq(cacheControl, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		switch strings.ToLower(name) {
		case "no-store", "no-cache":
			return keepAtLeast
		case "max-age":
			if seconds, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 31); err == nil {
				keep = time.Duration(seconds) * time.Second
			}
		}
	}
	return min(max(keep, keepAtLeast), keepAtMost)
}
