// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// styleLink finds the style sheet of a page.
var styleLink = regexp.MustCompile(`<link rel="stylesheet" href="([^"]+)">`)

// manyPeople is as many bridges as an installation is made for.
const manyPeople = 10_000

// BenchmarkPeople measures the time to the first byte of the list of people, and of pages
// with as many bytes that are made of nothing; what the people take of memory; and, where
// BENCH_PAINT is the command that opens a page in a browser, the time to its largest paint.
func BenchmarkPeople(b *testing.B) {
	w := newAdminWorld(b)
	before := heapInUse()
	w.change(func() {
		for i := range manyPeople {
			w.bridges = append(w.bridges, manyth(i))
		}
		// What a watch keeps has no order.
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(w.bridges), func(i, j int) { w.bridges[i], w.bridges[j] = w.bridges[j], w.bridges[i] })
	})
	people := heapInUse() - before
	v := w.administrator()
	for _, path := range []string{"/console/people", "/console/people?phase=Failed", "/console/people?group=group-7", "/console"} {
		page := v.open(path)
		if page.status != http.StatusOK {
			b.Fatalf("%s: %d %s", path, page.status, page.body)
		}
		b.Run("of="+path, func(b *testing.B) { firstBytes(b, v, v.url()+path, len(page.body)) })
		b.Run("paint="+path, func(b *testing.B) { paint(b, v, v.url()+path) })
		style := v.open(styleLink.FindStringSubmatch(page.body)[1])
		static := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/static/") {
				rw.Header().Set("Content-Type", "text/css")
				_, _ = io.WriteString(rw, style.body)
				return
			}
			_, _ = io.WriteString(rw, page.body)
		}))
		b.Run("static="+path, func(b *testing.B) { firstBytes(b, v, static.URL, len(page.body)) })
		b.Run("static-paint="+path, func(b *testing.B) { paint(b, v, static.URL) })
		static.Close()
	}
	b.Run("memory", func(b *testing.B) {
		b.ReportMetric(float64(people)/1e6, "MB-of-bridges")
		b.ReportMetric(0, "ns/op")
	})
}

// paint opens a page in a browser as often as the benchmark asks, and reports when its
// largest part was painted.
func paint(b *testing.B, v *visitor, page string) {
	command := strings.Fields(os.Getenv("BENCH_PAINT"))
	if len(command) == 0 {
		return
	}
	at, err := url.Parse(page)
	if err != nil {
		b.Fatal(err)
	}
	asked, err := json.Marshal(map[string]any{"url": page, "times": b.N, "cookies": v.client.Jar.Cookies(at)})
	if err != nil {
		b.Fatal(err)
	}
	var complaint bytes.Buffer
	cmd := exec.CommandContext(b.Context(), command[0], append(command[1:], string(asked))...)
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("%s: %v: %s", command[0], err, &complaint)
	}
	var took []float64
	if err := json.Unmarshal(out, &took); err != nil || len(took) != b.N {
		b.Fatalf("%s: %v", out, err)
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2], "p50-ms")
	b.ReportMetric(took[(len(took)-1)*95/100], "p95-ms")
}

// manyth returns one of many bridges.
func manyth(i int) *v1alpha1.HostedBridge {
	name := fmt.Sprintf("person-%05d", i)
	h := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: "tenants", Name: name, UID: types.UID("uid-" + name)}}
	h.Spec.Tier, h.Spec.Groups = "team", []string{fmt.Sprintf("group-%d", i%50)}
	h.Status.Phase = []v1alpha1.Phase{v1alpha1.PhaseRunning, v1alpha1.PhaseAsleep, v1alpha1.PhaseAsleep, v1alpha1.PhaseFailed}[i%4]
	h.Status.Profiles = []v1alpha1.ProfileUse{{Name: "engineering"}, {Name: "everyone"}}
	h.Status.LastActivityTime = &metav1.Time{Time: time.Now()}
	for s := range 5 {
		name := fmt.Sprintf("server-%d", s)
		h.Spec.Servers = append(h.Spec.Servers, v1alpha1.Server{Name: name})
		state := v1alpha1.ServerState{Name: name, From: name, State: v1alpha1.ServerHealthy}
		if s == 0 && i%7 == 0 {
			state.State, state.Reason, state.Message = v1alpha1.ServerUnhealthy, "SecretMissing", "TOKEN is not set"
		}
		h.Status.ServerStates = append(h.Status.ServerStates, state)
	}
	return h
}

// firstBytes opens a page again and again, and reports how long its first byte took.
func firstBytes(b *testing.B, v *visitor, url string, size int) {
	var took []time.Duration
	for b.Loop() {
		r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, nil)
		if err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		res, err := v.client.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
		if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
			b.Fatal(res.StatusCode, err)
		}
		res.Body.Close()
	}
	slices.Sort(took)
	at := func(part float64) float64 { return float64(took[int(part*float64(len(took)-1))].Microseconds()) / 1000 }
	b.ReportMetric(at(0.5), "p50-ms")
	b.ReportMetric(at(0.95), "p95-ms")
	b.ReportMetric(float64(size)/1000, "kB")
}
