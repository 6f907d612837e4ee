// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/netguard"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// home is where a test's client is at home: a server on this machine.
type home struct {
	*httptest.Server
	id       string
	requests atomic.Int64
	dialled  atomic.Int64
	ahead    atomic.Int64 // of the clock, which stands still otherwise

	mu     sync.Mutex
	answer http.HandlerFunc
}

func newHome(t *testing.T) *home {
	t.Helper()
	h := &home{}
	h.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.requests.Add(1)
		h.mu.Lock()
		answer := h.answer
		h.mu.Unlock()
		answer(w, r)
	}))
	h.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			h.dialled.Add(1)
		}
	}
	// A client that does not trust the server is no news here.
	h.Config.ErrorLog = log.New(io.Discard, "", 0)
	h.StartTLS()
	t.Cleanup(h.Close)
	h.id = h.URL + "/client.json"
	h.answer = h.says(`{"client_id": "` + h.id + `", "client_name": "Desk", "redirect_uris": ["http://127.0.0.1/callback"]}`)
	return h
}

// says returns what answers with a document.
func (h *home) says(document string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, document)
	}
}

func (h *home) change(answer http.HandlerFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = answer
}

func (h *home) tls() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: h.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
}

// documents returns those of an installation that allows the ranges.
func (h *home) documents(t *testing.T, allow ...string) *Documents {
	t.Helper()
	start := time.Now()
	d, err := NewDocuments(DocumentOptions{Allow: allow, TLS: h.tls(), Now: func() time.Time { return start.Add(time.Duration(h.ahead.Load())) }})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// here is the range of this machine.
const here = "127.0.0.0/8"

func TestAClientIsWhatItsDocumentSays(t *testing.T) {
	for name, test := range map[string]struct {
		kind, members string
		want          flow.Client
	}{
		"as little as there must be": {"application/json", ``, flow.Client{}},
		"with more": {"application/json; charset=utf-8", `, "client_name": "Desk", "client_uri": "URL/about", "token_endpoint_auth_method": "none", "scope": "a b", "grant_types": ["authorization_code"], "logo_uri": 7`,
			flow.Client{Name: "Desk", URI: "URL/about"}},
		"of a type in JSON":                                         {"application/oauth-client+json", `, "client_name": "Desk"`, flow.Client{Name: "Desk"}},
		"with the page of another":                                  {"application/json", `, "client_uri": "https://example.com/"`, flow.Client{}},
		"with members without values":                               {"application/json", `, "client_name": null, "client_secret": null`, flow.Client{}},
		"of a client that can prove who it is and does not have to": {"application/json", `, "token_endpoint_auth_method": "private_key_jwt", "token_endpoint_auth_methods_supported": ["private_key_jwt", "none"]`, flow.Client{}},
		"with methods that do not matter":                           {"application/json", `, "token_endpoint_auth_method": "none", "token_endpoint_auth_methods_supported": "none"`, flow.Client{}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			h.change(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet || r.Header.Get("Accept") != "application/json" || r.Header.Get("Cookie") != "" {
					t.Errorf("asked by %s with %v", r.Method, r.Header)
				}
				w.Header().Set("Content-Type", test.kind)
				fmt.Fprintf(w, `{"client_id": %q, "redirect_uris": ["http://127.0.0.1/callback", "app://a"]%s}`, h.id, strings.ReplaceAll(test.members, "URL", h.URL))
			})
			got, err := h.documents(t, here).Client(t.Context(), h.id)
			test.want.ID, test.want.Document = h.id, true
			test.want.URI = strings.ReplaceAll(test.want.URI, "URL", h.URL)
			test.want.RedirectURIs = []string{"http://127.0.0.1/callback", "app://a"}
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
		})
	}
}

func TestWhatIsNoDocumentOfAClient(t *testing.T) {
	document := func(members string) func(h *home) http.HandlerFunc {
		return func(h *home) http.HandlerFunc { return h.says(strings.ReplaceAll(members, "ID", h.id)) }
	}
	redirects := `"redirect_uris": ["http://127.0.0.1/callback"]`
	good := `{"client_id": "ID", ` + redirects + `}`
	for name, answer := range map[string]func(h *home) http.HandlerFunc{
		"of another client": document(`{"client_id": "ID/", ` + redirects + `}`),
		"of a client by another case": func(h *home) http.HandlerFunc {
			return h.says(`{"client_id": "` + strings.ToUpper(h.id) + `", ` + redirects + `}`)
		},
		"of nobody":                      document(`{` + redirects + `}`),
		"without redirect URIs":          document(`{"client_id": "ID"}`),
		"with no redirect URI":           document(`{"client_id": "ID", "redirect_uris": []}`),
		"with one that is relative":      document(`{"client_id": "ID", "redirect_uris": ["/callback"]}`),
		"with one that is none":          document(`{"client_id": "ID", "redirect_uris": ["https://a:b"]}`),
		"with one that is too long":      document(`{"client_id": "ID", "redirect_uris": ["https://a/` + strings.Repeat("a", maxRedirect) + `"]}`),
		"with too many":                  document(`{"client_id": "ID", "redirect_uris": ["https://a"` + strings.Repeat(`,"https://a"`, maxRedirects) + `]}`),
		"with one that is no text":       document(`{"client_id": "ID", "redirect_uris": "https://a"}`),
		"with a secret":                  document(`{"client_id": "ID", "client_secret": "", ` + redirects + `}`),
		"with the end of a secret":       document(`{"client_id": "ID", "client_secret_expires_at": 0, ` + redirects + `}`),
		"that asks to be asked for one":  document(`{"client_id": "ID", "token_endpoint_auth_method": "client_secret_basic", ` + redirects + `}`),
		"that has a key":                 document(`{"client_id": "ID", "token_endpoint_auth_method": "private_key_jwt", ` + redirects + `}`),
		"that has to have one asked for": document(`{"client_id": "ID", "token_endpoint_auth_method": "private_key_jwt", "token_endpoint_auth_methods_supported": ["private_key_jwt", "tls_client_auth"], ` + redirects + `}`),
		"whose methods are none":         document(`{"client_id": "ID", "token_endpoint_auth_method": "private_key_jwt", "token_endpoint_auth_methods_supported": "none", ` + redirects + `}`),
		"that is no object":              document(`["ID"]`),
		"that is two":                    document(good + good),
		"that is no JSON":                document(`client_id=ID`),
		"that is empty":                  document(``),
		"that is too long":               document(`{"client_id": "ID", "a": "` + strings.Repeat("a", maxBody) + `", ` + redirects + `}`),
		"that never ends": func(*home) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				for r.Context().Err() == nil {
					if _, err := io.WriteString(w, strings.Repeat(" ", 10_000)); err != nil {
						return
					}
				}
			}
		},
		"that is a page": func(h *home) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = io.WriteString(w, strings.ReplaceAll(good, "ID", h.id))
			}
		},
		"of no type": func(h *home) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = nil
				_, _ = io.WriteString(w, strings.ReplaceAll(good, "ID", h.id))
			}
		},
		"that is not there": func(*home) http.HandlerFunc { return http.NotFound },
		"of another status": func(h *home) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusNonAuthoritativeInfo)
				_, _ = io.WriteString(w, strings.ReplaceAll(good, "ID", h.id))
			}
		},
		"that is elsewhere": func(h *home) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/client.json" {
					t.Error("the redirect was followed")
				}
				http.Redirect(w, r, "/elsewhere.json", http.StatusFound)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			h.change(answer(h))
			got, err := h.documents(t, here).Client(t.Context(), h.id)
			if !errors.Is(err, flow.ErrClient) || !cmp.Equal(got, flow.Client{}) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// TestADocumentThatCannotBeHadIsForWhoNamedIt has whoever asked look into it, not
// who runs the installation.
func TestADocumentThatCannotBeHadIsForWhoNamedIt(t *testing.T) {
	h := newHome(t)
	stranger := must.Value(NewDocuments(DocumentOptions{Allow: []string{here}}))(t)
	unreached := func(err error) bool { return errors.Is(err, flow.ErrClient) && errors.Is(err, errUnavailable) }
	if _, err := stranger.Client(t.Context(), h.id); !unreached(err) || h.requests.Load() > 0 {
		t.Errorf("a server that does not prove who it is was asked: %v", err)
	}
	d := h.documents(t, here)
	h.change(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if _, err := d.Client(t.Context(), h.id); !unreached(err) {
		t.Error(err)
	}
	h.Close()
	if _, err := d.Client(t.Context(), h.id+"?again"); !unreached(err) {
		t.Error(err)
	}
}

// TestAddressesThatAreNotPublicAreNotDialled has the ways in which a URL can lead
// into the network of the installation. All of them are at the port of a server
// on this machine, which would see the connection if it came here.
func TestAddressesThatAreNotPublicAreNotDialled(t *testing.T) {
	h := newHome(t)
	d := h.documents(t)
	_, port, err := net.SplitHostPort(h.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for name, host := range map[string]string{
		"this machine":                        "127.0.0.1",
		"another address of it":               "127.8.9.10",
		"by name":                             "localhost",
		"by name with a dot":                  "localhost.",
		"any address":                         "0.0.0.0",
		"of IPv6":                             "[::1]",
		"any address of IPv6":                 "[::]",
		"in IPv6's notation":                  "[::ffff:127.0.0.1]",
		"in IPv6's notation as numbers":       "[::ffff:7f00:1]",
		"in the old notation":                 "[::127.0.0.1]",
		"behind NAT64":                        "[64:ff9b::7f00:1]",
		"behind 6to4":                         "[2002:7f00:1::]",
		"the metadata of a cloud":             "169.254.169.254",
		"the metadata of a cloud by IPv6":     "[fd00:ec2::254]",
		"the metadata of another":             "168.63.129.16",
		"the metadata of a third":             "100.100.100.200",
		"a private network":                   "10.0.0.1",
		"another private network":             "172.16.0.1",
		"a third":                             "192.168.0.1",
		"the Services of many clusters":       "10.96.0.1",
		"a carrier's network":                 "100.64.0.1",
		"a link":                              "[fe80::1]",
		"a private network of IPv6":           "[fd00::1]",
		"everybody on the link":               "224.0.0.1",
		"everybody":                           "255.255.255.255",
		"in hexadecimal":                      "0x7f.0.0.1",
		"as one number":                       "2130706433",
		"in octal":                            "0177.0.0.1",
		"in short":                            "127.1",
		"in numbers of another script":        "%31%32%37.0.0.1",
		"in numbers of full width, with dots": "%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1",
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			if client, err := d.Client(ctx, "https://"+host+":"+port+"/client.json"); err == nil {
				t.Errorf("%+v", client)
			}
		})
	}
	if n := h.dialled.Load(); n != 0 {
		t.Errorf("there were %d connections", n)
	}
	_, err = d.Client(t.Context(), h.id)
	if !errors.Is(err, flow.ErrClient) || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("the answer tells of the network: %v", err)
	}
	if _, err := h.documents(t, here).Client(t.Context(), h.id); err != nil || h.dialled.Load() != 1 {
		t.Errorf("what is allowed is not dialled: %v", err)
	}
}

func TestAProxyIsAskedForWhatMayBeReached(t *testing.T) {
	h := newHome(t)
	through := func(*http.Request) (*url.URL, error) { return url.Parse(h.URL) }
	for name, test := range map[string]struct {
		allow []string
		id    string
		want  int64
	}{
		"not through one that is not allowed itself": {nil, "https://client.example.com/a", 0},
		"not for an address of the network":          {[]string{here}, "https://10.0.0.1/a", 0},
		"for a name":                                 {[]string{here}, "https://client.example.com/a", 1},
	} {
		t.Run(name, func(t *testing.T) {
			rules, err := netguard.New(test.allow, nil, false)
			if err != nil {
				t.Fatal(err)
			}
			d := h.documents(t)
			d.client.Transport = newTransport(rules, h.tls(), through)
			before := h.dialled.Load()
			_, err = d.Client(t.Context(), test.id)
			if got := h.dialled.Load() - before; got != test.want || err == nil {
				t.Errorf("%d connections, %v", got, err)
			}
		})
	}
}

func TestForHowLongADocumentIsKept(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"":                                  keepAtLeast,
		"public":                            keepAtLeast,
		"max-age=0":                         keepAtLeast,
		"max-age=600":                       10 * time.Minute,
		`public, Max-Age="600", s-maxage=1`: 10 * time.Minute,
		"max-age=86400":                     keepAtMost,
		"max-age=99999999999999999999":      keepAtLeast,
		"max-age=-1":                        keepAtLeast,
		"max-age=3600, no-store":            keepAtLeast,
		"no-cache, max-age=3600":            keepAtLeast,
	} {
		if got := keepFor(header); got != want {
			t.Errorf("%q: %v, want %v", header, got, want)
		}
	}
}

func TestADocumentIsFetchedAgainWhenItsTimeIsOver(t *testing.T) {
	h := newHome(t)
	d := h.documents(t, here)
	ask := func(want int64) {
		t.Helper()
		if _, err := d.Client(t.Context(), h.id); err != nil || h.requests.Load() != want {
			t.Errorf("%d requests, %v", h.requests.Load(), err)
		}
	}
	ask(1)
	ask(1)
	h.ahead.Store(int64(keepAtLeast - time.Second))
	ask(1)
	h.ahead.Store(int64(keepAtLeast + time.Second))
	ask(2)
	ask(2)
}

func TestWhereThereIsNoClientNobodyLooksAgainAtOnce(t *testing.T) {
	h := newHome(t)
	d := h.documents(t, here)
	good := h.answer
	h.change(http.NotFound)
	for range 3 {
		if _, err := d.Client(t.Context(), h.id); !errors.Is(err, flow.ErrClient) || h.requests.Load() != 1 {
			t.Errorf("%d requests, %v", h.requests.Load(), err)
		}
	}
	h.change(good)
	h.ahead.Store(int64(keepFailure + time.Second))
	if _, err := d.Client(t.Context(), h.id); err != nil {
		t.Error(err)
	}
}

func TestADocumentThatCannotBeHadAnewIsGoodForADay(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"its server is away":     func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"its server is ill":      func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		"its server has no time": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) },
		"its server goes away soon": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "{")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			d := h.documents(t, here)
			good := h.answer
			ask := func(at time.Duration, want int64) error {
				t.Helper()
				h.ahead.Store(int64(at))
				client, err := d.Client(t.Context(), h.id)
				if h.requests.Load() != want || (client.Name == "Desk") != (err == nil) {
					t.Errorf("%d requests, %+v, %v", h.requests.Load(), client, err)
				}
				return err
			}
			first := ask(0, 1)
			h.change(answer)
			past := keepAtLeast + time.Second
			if err := errors.Join(first, ask(past, 2), ask(past, 2), ask(past+keepFailure+time.Second, 3)); err != nil {
				t.Error(err)
			}
			if err := ask(keepAtLeast+keepPast-time.Second, 4); err != nil {
				t.Error(err)
			}
			if err := ask(keepAtLeast+keepPast+keepFailure, 5); !errors.Is(err, errUnavailable) {
				t.Errorf("after a day: %v", err)
			}
			h.change(good)
			if err := ask(keepAtLeast+keepPast+3*keepFailure, 6); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestADocumentThatWasTakenBackIsGoodNoMore(t *testing.T) {
	h := newHome(t)
	d := h.documents(t, here)
	must.Value(d.Client(t.Context(), h.id))(t)
	h.change(http.NotFound)
	h.ahead.Store(int64(keepAtLeast + time.Second))
	if _, err := d.Client(t.Context(), h.id); !errors.Is(err, flow.ErrClient) {
		t.Error(err)
	}
	h.change(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	h.ahead.Add(int64(keepFailure + time.Second))
	if _, err := d.Client(t.Context(), h.id); !errors.Is(err, errUnavailable) {
		t.Errorf("it is back: %v", err)
	}
}

// TestManyAskForADocumentOnce has the first who asks leave.
func TestManyAskForADocumentOnce(t *testing.T) {
	h := newHome(t)
	d := h.documents(t, here)
	good, begun, held := h.answer, make(chan struct{}), make(chan struct{})
	h.change(func(w http.ResponseWriter, r *http.Request) {
		close(begun)
		<-held
		good(w, r)
	})
	var group sync.WaitGroup
	ctx, leave := context.WithCancel(t.Context())
	group.Go(func() {
		if _, err := d.Client(ctx, h.id); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	<-begun
	for range 10 {
		group.Go(func() {
			if c, err := d.Client(t.Context(), h.id); err != nil || c.Name != "Desk" {
				t.Errorf("%+v, %v", c, err)
			}
		})
	}
	leave()
	close(held)
	group.Wait()
	if n := h.requests.Load(); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestARangeThatIsNoneIsRefused(t *testing.T) {
	if _, err := NewDocuments(DocumentOptions{Allow: []string{"10.0.0.0"}}); err == nil {
		t.Error("no error")
	}
}
