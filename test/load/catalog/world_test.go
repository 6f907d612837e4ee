// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench

package catalog

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/test/load/world"
	"github.com/hostedbridge/hostedbridge/test/must"
)

const (
	// importLimit is how long anything of an import may take.
	importLimit = 3 * time.Minute
	adminKey    = "the-benchmarks-own-admin-key"
)

// asker asks what is not measured.
var asker = &http.Client{Timeout: importLimit, Transport: &http.Transport{}}

// installation is a real API server with a keybroker and an operator, without nodes.
type installation struct {
	*world.World
	operator *world.Process
}

func newInstallation(t *testing.T) *installation {
	t.Helper()
	w := &installation{World: world.New(t, []string{"CATALOG_ADMIN_KEY=" + adminKey, "GODEBUG=gctrace=1"}, "operator", "ingress")} // For memory.
	probes := world.UnusedAddress(t)
	w.operator = w.Start(t, "operator", "--namespace="+w.Namespace, "--probe-listen="+probes, "--metrics-listen=0")
	w.operator.AwaitListener(t, probes)
	return w
}

// startIngress starts an ingress, and waits until it is ready. There is no bridge.
func (w *installation) startIngress(t *testing.T, flags ...string) *world.Process {
	t.Helper()
	return w.StartIngress(t, world.UnusedAddress(t), append([]string{"--catalog-reads-per-second=0"}, flags...)...)
}

// looks is how often is looked for what is served. Who looks more often has the
// ingress sort recipes again and again while they come.
const looks = 500 * time.Millisecond

// awaitServed waits until so many recipes are served.
func (w *installation) awaitServed(t *testing.T, p *world.Process, recipes int) {
	t.Helper()
	var looked time.Time
	p.Await(t, fmt.Sprintf("serves %d recipes", recipes), func() bool {
		if time.Since(looked) < looks {
			return false
		}
		looked = time.Now()
		res, err := asker.Get("http://" + p.Addr + "/recipes?limit=1")
		if err != nil {
			return false
		}
		defer res.Body.Close()
		var page struct{ Total *int }
		return json.NewDecoder(res.Body).Decode(&page) == nil && res.StatusCode == http.StatusOK && page.Total != nil && *page.Total == recipes
	})
}

// seedAgain seeds by the admin surface, and returns how long it took.
func (w *installation) seedAgain(t *testing.T, p *world.Process, recipes int) string {
	t.Helper()
	r := must.Value(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+p.Addr+"/admin/seed", nil))(t)
	r.Header.Set("Authorization", "Bearer "+adminKey)
	began := time.Now()
	res := must.Value(asker.Do(r))(t)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("status %d, error %v: %.500s", res.StatusCode, err, body)
	}
	took := since(began)
	var report struct{ Counts map[string]int }
	if err := json.Unmarshal(body, &report); err != nil || report.Counts["none"] != recipes {
		t.Fatalf("error %v, counts %v", err, report.Counts)
	}
	return took
}
