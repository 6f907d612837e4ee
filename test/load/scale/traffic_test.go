// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench && linux

package scale

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/apikey"
)

// asked is how often tenants ask for their health while operators change.
const asked = 20 * time.Millisecond

// keys are those of the first tenants, every second of whom sleeps: the others have
// hashes without keys.
var keys = func() (k [2 * sleepers]struct{ key, id, hash string }) {
	for i := range k {
		var err error
		if k[i].key, k[i].id, err = apikey.Mint(rand.Reader, apikey.KindUser); err != nil {
			panic(err) // The system has no randomness.
		}
		k[i].hash = apikey.HashFor(nameOf(i), k[i].key).String()
	}
	return k
}()

// Traffic is what tenants were answered.
type Traffic struct {
	Asked int `json:"asked"`
	// Wrong are answers that are not what the ingress's table should have, Said how
	// often each answer came.
	Wrong int            `json:"wrong"`
	Said  map[string]int `json:"said"`
}

// during asks the ingress for two tenants, of whom it should know one to run and
// one to sleep, for as long as something lasts. Their answers come from its table.
func (n *installation) during(t *testing.T, something func()) (traffic Traffic) {
	t.Helper()
	traffic.Said = map[string]int{}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(asked)
		defer tick.Stop()
		for {
			for i, want := range []string{"unhealthy", "asleep"} {
				traffic.Asked++
				got := n.health(i)
				if traffic.Said[got]++; got != want {
					traffic.Wrong++
				}
			}
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	}()
	something()
	close(done)
	<-ended
	t.Logf("answers meanwhile: %v", traffic.Said)
	return traffic
}

// health returns what the ingress says of a tenant to whom asks with its key.
// Nobody listens at the address of a pod that kwok plays: one that should run is
// unhealthy.
func (n *installation) health(i int) string {
	r, err := http.NewRequest(http.MethodGet, "http://"+n.address+"/u/"+nameOf(i)+"/health", nil)
	if err != nil {
		return err.Error()
	}
	r.Header.Set("Authorization", "Bearer "+keys[i].key)
	res, err := new(http.Client).Do(r)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	var said struct{ Status string }
	if err := json.NewDecoder(res.Body).Decode(&said); err != nil || res.StatusCode != http.StatusOK {
		return res.Status
	}
	return said.Status
}
