// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench && linux

package scale

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/internal/pki/pkitest"
	"github.com/hostedbridge/hostedbridge/test/load/world"
	"github.com/hostedbridge/hostedbridge/test/must"
)

const (
	// sleepers is how many sleeping tenants are called, and within is in which time.
	sleepers = 1000
	within   = 10 * time.Second

	// answerLimit is longer than an ingress lets a call wait.
	answerLimit = time.Minute
)

// Woken is what calls of sleeping tenants take, one call of each.
type Woken struct {
	WokenTenants int `json:"wokenTenants"`
	// WokenAnswers are how often each answer came: ok, or the status and code.
	WokenAnswers map[string]int `json:"wokenAnswers"`
	// Answered is how long after they were due calls had the answer of their bridge.
	Answered   Latency           `json:"wokenAnswered"`
	WokenKinds map[string]string `json:"wokenWritesPerTenantByKind"`
	// WokenCPU is what each process took until the last call was answered, in cores.
	WokenCPU map[string]string `json:"wokenCores"`
}

// wake calls sleeping tenants, evenly within a time, each when it is due whether or
// not those before it are answered.
func (n *installation) wake(t *testing.T, s *subject, tenants int) (w Woken) {
	t.Helper()
	n.playBridges(t)
	s.plane.audit.settle(t, 10*time.Second, s.limit(tenants))
	called := min(sleepers, len(keys)/2, tenants/2)
	w.WokenTenants, w.WokenAnswers, w.WokenKinds, w.WokenCPU = called, map[string]int{}, map[string]string{}, map[string]string{}
	client := &http.Client{Timeout: answerLimit, Transport: &http.Transport{MaxIdleConnsPerHost: sleepers}}
	defer client.CloseIdleConnections()
	before, cpu, began := s.plane.audit.writes(), s.cpuTimes(t), time.Now()
	var (
		mu    sync.Mutex
		took  []time.Duration
		group sync.WaitGroup
	)
	for k := range called {
		due := began.Add(time.Duration(k) * within / time.Duration(called))
		<-time.After(time.Until(due))
		group.Go(func() {
			said := n.call(client, 2*k+1) // Every second tenant is on demand.
			mu.Lock()
			defer mu.Unlock()
			if w.WokenAnswers[said]++; said == "ok" {
				took = append(took, time.Since(due))
			}
		})
	}
	group.Wait()
	long := time.Since(began)
	for name, after := range s.cpuTimes(t) {
		w.WokenCPU[name] = fmt.Sprintf("%.2f", (after-cpu[name]).Seconds()/long.Seconds())
	}
	s.plane.audit.settle(t, 10*time.Second, s.limit(tenants))
	written := s.plane.audit.since(before)
	for _, account := range s.accounts {
		w.WokenKinds[account] = written.perTenant(account, called)
	}
	w.Answered = latencyOf(took)
	t.Logf("%d sleepers are called within %s: %v, answered after %+v s, with the writes %v and %v cores", called, within, w.WokenAnswers, w.Answered, w.WokenKinds, w.WokenCPU)
	return w
}

// call calls a tool as a tenant, and returns "ok", or what else the ingress answers.
func (n *installation) call(client *http.Client, i int) string {
	r, err := http.NewRequest(http.MethodPost, "http://"+n.address+"/u/"+nameOf(i)+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search"}}`))
	if err != nil {
		return err.Error()
	}
	r.Header.Set("Authorization", "Bearer "+keys[i].key)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	res, err := client.Do(r)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return err.Error()
	case res.StatusCode == http.StatusOK && string(body) == played:
		return "ok"
	}
	var said struct {
		Error struct{ Data struct{ Code string } }
	}
	_ = json.Unmarshal(body, &said) // Without a code the status says enough.
	return strings.TrimSpace(fmt.Sprintf("%d %s", res.StatusCode, said.Error.Data.Code))
}

// played is the answer of a played bridge.
const played = `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`

// bridgesByAddress are the UIDs of bridges, by the addresses of their pods.
type bridgesByAddress struct {
	mu   sync.Mutex
	uids map[string]string
}

func (b *bridgesByAddress) see(e watch.Event, _ time.Time) {
	if pod, ok := e.Object.(*unstructured.Unstructured); ok {
		b.add(pod)
	}
}

func (b *bridgesByAddress) add(pod *unstructured.Unstructured) {
	if address, _, _ := unstructured.NestedString(pod.Object, "status", "podIP"); address != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.uids[address] = pod.GetAnnotations()[v1alpha1.AnnotationBridgeUID]
	}
}

// at returns the UID of the bridge at an address. The event of its pod may come later.
func (b *bridgesByAddress) at(ctx context.Context, address string) (uid string) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		b.mu.Lock()
		uid = b.uids[address]
		b.mu.Unlock()
		if uid != "" {
			return uid
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ""
		}
	}
}

// playBridges answers at the addresses of pods, with the certificate of the bridge whose
// pod has the address. It listens on loopback alone.
func (n *installation) playBridges(t *testing.T) {
	t.Helper()
	list := must.Value(n.plane.dynamic.Resource(pods).List(t.Context(), metav1.ListOptions{}))(t)
	known := &bridgesByAddress{uids: map[string]string{}}
	for i := range list.Items {
		known.add(&list.Items[i])
	}
	ctx, cancel := context.WithCancel(t.Context())
	follows := &watcher{ends: cancel}
	t.Cleanup(follows.end)
	follows.follow(ctx, t, &cache.ListWatch{WatchFuncWithContext: n.plane.dynamic.Resource(pods).Watch}, list.GetResourceVersion(), known.see)

	config := &net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		if controlErr := c.Control(func(fd uintptr) { err = syscall.BindToDevice(int(fd), "lo") }); controlErr != nil {
			return controlErr
		}
		return err
	}}
	l := must.Value(config.Listen(t.Context(), "tcp4", "0.0.0.0:"+world.BridgePort))(t)
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch path.Base(r.URL.Path) {
			case "readyz":
			case "mcp":
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, played)
			default:
				http.NotFound(w, r)
			}
		}),
		ReadHeaderTimeout: answerLimit, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0),
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			host, _, err := net.SplitHostPort(hello.Conn.LocalAddr().String())
			if err != nil {
				return nil, err
			}
			uid := known.at(hello.Context(), host)
			if uid == "" {
				return nil, fmt.Errorf("no pod has the address %s", host)
			}
			certificate := pkitest.Certificate(t, n.authority, pki.BridgeSubject(uid))
			return &certificate, nil
		}},
	}
	world.Serve(t, server, l)
}
