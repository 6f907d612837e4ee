// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/registration"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

const (
	// patience limits one request to a remote server.
	patience = 10 * time.Second
	// together is how many recipes' servers are asked at once.
	together = 8
)

// remoteFacts are what a remote server says of itself without credentials.
type remoteFacts struct {
	transport recipe.Transport
	// reached is that the server answered; the others are of that answer.
	reached bool
	status  int
	// login is the authorization server that it names, and unfound why it names
	// none, where the recipe's login needs it.
	login   registration.Server
	unfound error
}

// prober asks remote servers.
type prober struct {
	client *http.Client
}

func newProber() prober {
	return prober{client: &http.Client{
		Timeout: patience, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// probeAll returns what the remote servers of recipes say, by recipe.
func (p prober) probeAll(ctx context.Context, recipes []recipe.Recipe) map[string][]remoteFacts {
	all := make([][]remoteFacts, len(recipes))
	turns := make(chan struct{}, together)
	var asked sync.WaitGroup
	for i, r := range recipes {
		asked.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			for _, t := range r.Transports {
				if t.Type != recipe.Stdio {
					all[i] = append(all[i], p.probe(ctx, t))
				}
			}
		})
	}
	asked.Wait()
	found := make(map[string][]remoteFacts, len(recipes))
	for i, r := range recipes {
		found[r.ID] = all[i]
	}
	return found
}

// probe asks one server. A URL with a variable is one that nobody can ask.
func (p prober) probe(ctx context.Context, t recipe.Transport) remoteFacts {
	f := remoteFacts{transport: t}
	if strings.Contains(t.URL, "${") {
		return f
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		return f
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := p.client.Do(r)
	if err != nil {
		return f
	}
	_ = resp.Body.Close()
	f.reached, f.status = true, resp.StatusCode
	if t.Auth != nil && recipe.Discovers(*t.Auth) {
		f.login, f.unfound = registration.Finder{HTTP: p.client}.Find(ctx, t.URL)
	}
	return f
}

// judgeRemote returns what is to be done about a recipe by what its servers say.
func judgeRemote(r recipe.Recipe, servers []remoteFacts) []finding {
	var found []finding
	if m := r.Metadata; len(servers) > 0 && (len(m.Sources) == 0 || m.Checked == "") {
		found = append(found, finding{true, "metadata.sources and metadata.checked do not say from where the facts of its remote server are"})
	}
	for _, f := range servers {
		if !f.reached {
			continue
		}
		if one := f.judge(); one.text != "" {
			one.text = f.transport.URL + ": " + one.text
			found = append(found, one)
		}
	}
	return found
}

// judge returns what is to be done about a server that answered, if anything.
func (f remoteFacts) judge() finding {
	auth := f.transport.Auth
	switch {
	case f.status == http.StatusNotFound || f.status == http.StatusGone:
		return finding{true, fmt.Sprintf("it answers %d", f.status)}
	case f.status == http.StatusUnauthorized && auth == nil && len(f.transport.Headers) == 0:
		return finding{true, "it wants credentials, and the recipe has none"}
	case f.unfound != nil:
		return finding{true, fmt.Sprintf("bridge login cannot work: %v", f.unfound)}
	case f.login.Issuer == "":
		return finding{}
	case auth.ClientID == "" && f.login.RegistrationURL == "":
		return finding{true, fmt.Sprintf("bridge login cannot work: %s registers no clients, and the recipe has no clientId", f.login.Issuer)}
	}
	return finding{false, "tokens are of " + f.login.Issuer}
}

// unreached counts servers that did not answer.
func unreached(all map[string][]remoteFacts) (count, servers int) {
	for _, list := range all {
		for _, f := range list {
			servers++
			if !f.reached {
				count++
			}
		}
	}
	return count, servers
}
