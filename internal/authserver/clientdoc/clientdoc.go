// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package clientdoc

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
	"github.com/hostedbridge/hostedbridge/internal/bridge/netguard"
	"github.com/hostedbridge/hostedbridge/internal/version"
)

const (
	// timeout bounds a fetch: a person waits for the page that it is for.
	timeout = 5 * time.Second
	// maxBody is how long a document may be; real ones have about 1 KiB.
	maxBody = 64 << 10
	// keepAtLeast and keepAtMost bound for how long a document is kept, whatever it
	// says. Within it a redirect URI that its client takes back is still good.
	keepAtLeast, keepAtMost = 5 * time.Minute, time.Hour
	// keepFailure is for how long nothing is fetched again from where there was no
	// client: short for who mends a document, and long for who is made to answer.
	keepFailure = time.Minute
	// keepPast is for how long after its end a document is good that cannot be had
	// anew: an outage of its server, or somebody who takes all places, is no reason
	// for its people not to log in.
	keepPast = 24 * time.Hour
)

// Options are what Documents are fetched by.
type Options struct {
	// Allow are ranges of addresses, in CIDR notation, that are dialled besides
	// public ones, such as that of a network whose clients are at home there.
	Allow []string
	// TLS is what servers prove themselves by; nil for the system's roots.
	TLS *tls.Config
	// Now is the clock, time.Now if nil.
	Now func() time.Time
}

// Documents fetches the documents of clients. It is safe for concurrent use.
type Documents struct {
	client   *http.Client
	now      func() time.Time
	kept     *cache // Clients.
	failures *cache
	fetching singleflight.Group
	places   *places
}

var _ flow.Documents = (*Documents)(nil)

// New returns the documents of the clients that may be reached. It fails if a
// range of Options.Allow is none.
func New(o Options) (*Documents, error) {
	rules, err := netguard.New(o.Allow, nil, false)
	if err != nil {
		return nil, fmt.Errorf("client documents: %w", err)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	d := &Documents{now: o.Now, kept: newCache(maxKept), failures: newCache(maxFailures), places: newPlaces(), client: &http.Client{
		Transport:     newTransport(rules, o.TLS, http.ProxyFromEnvironment),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	return d, nil
}

// errNotPublic says that the guard refused an address. It names neither the
// address nor what resolved to it: whoever asks could learn of a network.
var errNotPublic = errors.New("its address is not public and the installation does not allow it")

// newTransport returns a network of which every address is judged when it is
// dialled, so that it does not matter what a name resolves to the second time. A
// proxy of the environment is judged too, and asked for no address that is not
// permitted; what names lead to is its own to judge.
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
		// The next document is somebody else's.
		DisableKeepAlives: true,
		// A header is short, as far as anybody needs it here.
		MaxResponseHeaderBytes: maxBody,
	}
}

// Client returns the client whose document is at the URL id. Its errors wrap
// flow.ErrClient where who named the URL has to look into it: the URL or the
// document is at fault, or the document cannot be had. Others are that too many
// documents are being fetched, which is over soon, and that ctx ended.
func (d *Documents) Client(ctx context.Context, id string) (flow.Client, error) {
	if err := checkID(id); err != nil {
		return flow.Client{}, err
	}
	now := d.now()
	for _, c := range []*cache{d.kept, d.failures} {
		if kept, ok := c.get(id, now); ok && now.Before(kept.end) {
			return kept.client, kept.err
		}
	}
	// It is for all who wait, and not for one who may leave.
	fetched := d.fetching.DoChan(id, func() (any, error) { return d.fetch(context.WithoutCancel(ctx), id), nil })
	select {
	case r := <-fetched:
		a := r.Val.(answer)
		return a.client, a.err
	case <-ctx.Done():
		return flow.Client{}, ctx.Err()
	}
}

// fetch fetches a document, and keeps what came of it.
func (d *Documents) fetch(ctx context.Context, id string) answer {
	client, keep, err := d.get(ctx, id)
	now := d.now()
	e := entry{id: id, site: siteOf(id), answer: answer{client: client}, end: now.Add(keep)}
	if err == nil {
		e.last = e.end.Add(keepPast)
		d.kept.put(e)
		return e.answer
	}
	e.err, e.end = fmt.Errorf("get the client's document: %w", err), now.Add(keepFailure)
	e.last = e.end
	busy := errors.Is(err, errBusy)
	if !busy && !errors.Is(err, errUnreached) {
		d.kept.remove(id) // The client is another one now, or none.
	}
	if kept, ok := d.kept.get(id, now); ok {
		kept.end = e.end
		d.kept.put(kept)
		return kept.answer
	}
	if !busy {
		d.failures.put(e)
	}
	return e.answer
}

// errUnreached is that a document cannot be had, so that nothing is known of what
// it says.
var errUnreached = errors.New("its document cannot be had")

func unreached(reason error) error {
	return fmt.Errorf("%w: %w: %w", flow.ErrClient, errUnreached, reason)
}

func (d *Documents) get(ctx context.Context, id string) (flow.Client, time.Duration, error) {
	leave, err := d.places.take(ctx, siteOf(id))
	if err != nil {
		return flow.Client{}, 0, err
	}
	defer leave()
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
		return flow.Client{}, 0, unreached(err)
	}
	defer resp.Body.Close()
	described, err := read(resp)
	if err != nil {
		return flow.Client{}, 0, err
	}
	client, err := described.client(id)
	return client, keepFor(resp.Header.Get("Cache-Control")), err
}

// read reads a document, by section 4 of the draft.
func read(resp *http.Response) (document, error) {
	var d document
	if resp.StatusCode != http.StatusOK {
		reason := fmt.Sprintf("its server answers with status %d", resp.StatusCode)
		if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= http.StatusInternalServerError {
			return d, unreached(errors.New(reason))
		}
		return d, faulty(reason)
	}
	if !isJSON(resp.Header.Get("Content-Type")) {
		return d, faulty("its document is not of the content type application/json")
	}
	content, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case err != nil:
		return d, unreached(err)
	case len(content) > maxBody:
		return d, faulty(fmt.Sprintf("its document has more than %d KiB", maxBody>>10))
	case json.Unmarshal(content, &d) != nil:
		return d, faulty("its document is no JSON object of a client's metadata")
	}
	return d, nil
}

// isJSON reports whether a content type is JSON's, or that of something in JSON.
func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && (kind == "application/json" || strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json"))
}

// keepFor returns for how long a document is kept whose server says that of it.
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
