// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// internet answers for all hosts: those whose name begins with slow never, those
// with none that there is no document, and all others with one at every URL.
type internet struct{ requests atomic.Int64 }

func (n *internet) RoundTrip(r *http.Request) (*http.Response, error) {
	n.requests.Add(1)
	answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: http.NoBody}
	switch {
	case strings.HasPrefix(r.URL.Host, "slow"):
		<-r.Context().Done()
		return nil, r.Context().Err()
	case strings.HasPrefix(r.URL.Host, "none"):
		answer.StatusCode = http.StatusNotFound
	default:
		answer.Body = io.NopCloser(strings.NewReader(fmt.Sprintf(`{"client_id": %q, "redirect_uris": ["http://127.0.0.1/"]}`, r.URL)))
	}
	return answer, nil
}

// world returns an internet, what asks it for documents, and all that is going on.
// Time passes in the test's bubble alone.
func world(t *testing.T) (*internet, *Documents, *sync.WaitGroup) {
	t.Helper()
	d := must.Value(NewDocuments(DocumentOptions{}))(t)
	n := &internet{}
	d.client.Transport = n
	return n, d, &sync.WaitGroup{}
}

func ask(t *testing.T, d *Documents, id string) error {
	t.Helper()
	client, err := d.Client(t.Context(), id)
	if (client.ID == id) != (err == nil) {
		t.Errorf("%s: %+v, %v", id, client, err)
	}
	return err
}

func TestASlowSiteKeepsNobodyElseWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, d, all := world(t)
		begun := time.Now()
		var busy atomic.Int64
		for i := range 2 * maxFetches {
			all.Go(func() {
				if err := ask(t, d, fmt.Sprintf("https://slow%d.example.com/a?%d", i, i)); errors.Is(err, errBusy) {
					busy.Add(1)
				}
			})
		}
		synctest.Wait()
		if got := n.requests.Load(); got != maxSiteFetches {
			t.Errorf("%d of one site are fetched", got)
		}
		if err := ask(t, d, "https://desk.example.org/client.json"); err != nil || time.Since(begun) > 0 {
			t.Errorf("another site is fetched after %v: %v", time.Since(begun), err)
		}
		all.Wait()
		if took := time.Since(begun); took != timeout || busy.Load() != 2*maxFetches-maxSiteFetches {
			t.Errorf("%d are busy, the last after %v", busy.Load(), took)
		}
		if len(d.slots.sites) != 0 || len(d.slots.all) != 0 {
			t.Errorf("%d places of %d sites are taken", len(d.slots.all), len(d.slots.sites))
		}
	})
}

// TestWhereAllPlacesAreTaken has somebody with many slow sites.
func TestWhereAllPlacesAreTaken(t *testing.T) {
	const desk, other = "https://desk.example.org/client.json", "https://other.example.org/client.json"
	synctest.Test(t, func(t *testing.T) {
		n, d, all := world(t)
		must.Succeed(t, ask(t, d, desk))
		time.Sleep(keepAtLeast + time.Second)
		for i := range maxFetches {
			all.Go(func() {
				if err := ask(t, d, fmt.Sprintf("https://slow.example%d.com/a", i)); !errors.Is(err, flow.ErrClient) || !errors.Is(err, errUnavailable) {
					t.Errorf("a slow site: %v", err)
				}
			})
		}
		synctest.Wait()
		if got := n.requests.Load(); got != maxFetches+1 {
			t.Errorf("there were %d requests", got)
		}
		all.Go(func() {
			if err := ask(t, d, desk); err != nil {
				t.Errorf("a client that is known: %v", err)
			}
		})
		if err := ask(t, d, other); !errors.Is(err, errBusy) || errors.Is(err, flow.ErrClient) {
			t.Errorf("a client that is not known: %v", err)
		}
		all.Wait()
		if err := ask(t, d, other); err != nil {
			t.Errorf("a client that is not known, afterwards: %v", err)
		}
	})
}

func TestWhatIsNoClientTakesTheRoomOfNone(t *testing.T) {
	for name, ids := range map[string]string{
		"ids where there is nothing":                 "https://none.example%d.com/a",
		"ids of one site with a document everywhere": "https://a%d.example.com/a",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, d, _ := world(t)
				const desk = "https://desk.example.org/client.json"
				must.Succeed(t, ask(t, d, desk))
				for i := range 2 * maxClients {
					_ = ask(t, d, fmt.Sprintf(ids, i))
				}
				before := n.requests.Load()
				if err := ask(t, d, desk); err != nil || n.requests.Load() != before {
					t.Errorf("a client is kept no more: %v", err)
				}
				if len(d.failures.byID) > maxFailures {
					t.Errorf("%d failures are kept", len(d.failures.byID))
				}
			})
		})
	}
}

func TestWhoseAnIDIs(t *testing.T) {
	for id, want := range map[string]string{
		"https://chatgpt.com/oauth/a/client.json":   "chatgpt.com",
		"https://A.B.ChatGPT.com.:8443/client.json": "chatgpt.com",
		"https://a.example.co.uk/":                  "example.co.uk",
		"https://me.github.io/":                     "me.github.io",
		"https://com/":                              "com",
		"https://localhost/":                        "localhost",
		"https://192.0.2.1:8443/":                   "192.0.2.1/32",
		"https://[::ffff:192.0.2.1]/":               "192.0.2.1/32",
		"https://[2001:db8:1:2::3]/":                "2001:db8:1::/48",
		"https://[2001:db8:1:3::4%25a]:8443/":       "2001:db8:1::/48",
		"https://a..example.com/":                   "a..example.com",
		":":                                         "",
	} {
		if got := siteOf(id); got != want {
			t.Errorf("%s is of %s, want %s", id, got, want)
		}
	}
}
