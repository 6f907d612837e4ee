// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build rotation || testenv

package rotation

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/keybroker"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

const (
	// samples is how many of the bridges have a pod.
	samples = 32
	// readers is how many read at a time, each every readEvery. That is as when
	// all 110 bridges of a node start every second.
	readers   = 4
	readEvery = 36 * time.Millisecond
	// noticing is how many reads meet each keybroker that was killed.
	noticing = 10
	// readTimeout is that of the bridge.
	readTimeout = 15 * time.Second
)

// pod is a bridge's, which reads its secrets.
type pod struct {
	bridge int
	token  string
}

// pods makes pods for the first bridges, with what the operator and the kubelet
// make for them.
func (w *fleet) pods(t *testing.T, bridges int) []pod {
	t.Helper()
	var pods []pod
	for i, of := range w.bridges[:bridges] {
		b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: of.Name, UID: of.UID}}
		sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
			Namespace: of.Namespace, Name: v1alpha1.WorkloadName(of.Name),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(b, v1alpha1.GroupVersion.WithKind("HostedBridge"))},
		}}
		p := &corev1.Pod{
			ObjectMeta: testenv.OfTenant(metav1.ObjectMeta{Namespace: of.Namespace, Name: sa.Name}),
			Spec:       corev1.PodSpec{ServiceAccountName: sa.Name, Containers: []corev1.Container{{Name: "bridge", Image: "bridge"}}},
		}
		testenv.ExpectApplied(t, w.client, sa, p)
		request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			Audiences:      []string{keybroker.Audience},
			BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: p.Name, UID: p.UID},
		}}
		must.Succeed(t, w.client.SubResource("token").Create(t.Context(), sa, request))
		pods = append(pods, pod{bridge: i, token: request.Status.Token})
	}
	return pods
}

// trusting returns a client that trusts what the keybroker publishes, and like
// a bridge's makes a connection for each request.
func (w *fleet) trusting(t *testing.T) *http.Client {
	t.Helper()
	published := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "hosted-bridge-ca"}}
	testenv.ExpectExists(t, w.client, published)
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(published.Data["ca.crt"])) {
		t.Fatal("the keybroker has published no certificate")
	}
	return &http.Client{Timeout: readTimeout, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{
			RootCAs: roots, ServerName: "hosted-bridge-keybroker." + w.namespace + ".svc", MinVersion: tls.VersionTLS13,
		},
		DisableKeepAlives: true,
	}}
}

// load is what reads while everything else happens.
type load struct {
	world    *fleet
	replicas *replicas
	client   *http.Client
	pods     []pod

	reads, failedOver, failures atomic.Int64
	first                       atomic.Pointer[error]
	began, stopped              time.Time
	stop                        func()
}

// read reads the secrets of random pods, each time all of them, until it is
// stopped.
func (w *fleet) read(t *testing.T, r *replicas, pods []pod) *load {
	t.Helper()
	l := &load{world: w, replicas: r, client: w.trusting(t), pods: pods, began: time.Now()}
	ctx, cancel := context.WithCancel(t.Context())
	var group errgroup.Group
	for range readers {
		group.Go(func() error {
			tick := time.NewTicker(readEvery)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return nil
				case <-tick.C:
					l.one(l.pods[mathrand.IntN(len(l.pods))])
				}
			}
		})
	}
	l.stop = sync.OnceFunc(func() {
		cancel()
		_ = group.Wait() // They return no error.
		l.stopped = time.Now()
	})
	t.Cleanup(l.stop)
	return l
}

// rate returns how many there were a second.
func (l *load) rate() float64 {
	return float64(l.reads.Load()) / l.stopped.Sub(l.began).Seconds()
}

// one reads from either of the two and, where that one is killed meanwhile, at
// once from the other.
func (l *load) one(p pod) {
	slot := mathrand.IntN(2)
	asked := l.replicas.both()[slot]
	err := l.ask(asked, p)
	if err != nil && !errors.Is(err, errAnswer) && asked.Told() {
		l.failedOver.Add(1)
		err = l.ask(l.replicas.both()[1-slot], p)
	}
	l.reads.Add(1)
	if err != nil {
		l.failures.Add(1)
		l.first.CompareAndSwap(nil, &err)
	}
}

// errAnswer is an answer that is not the right one.
var errAnswer = errors.New("wrong answer")

// ask has one keybroker open all secrets of the pod's bridge, and compares
// them.
func (l *load) ask(k *process, p pod) error {
	request, err := http.NewRequest(http.MethodGet, "https://"+k.address+"/v1/secrets", http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+p.token)
	response, err := l.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	var answer struct {
		Code       string            `json:"code"`
		Secrets    map[string][]byte `json:"secrets"`
		Unreadable []string          `json:"unreadable"`
	}
	// The decoder's error could quote what it read.
	if json.Unmarshal(body, &answer) != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: %d %s", errAnswer, response.StatusCode, answer.Code)
	}
	if err := l.world.compare(p.bridge, answer.Secrets, answer.Unreadable); err != nil {
		return fmt.Errorf("%w: %w", errAnswer, err)
	}
	return nil
}

// expectServed has each of the two open the secrets of every pod.
func (l *load) expectServed(t *testing.T) {
	t.Helper()
	for i, k := range l.replicas.both() {
		for _, p := range l.pods {
			if err := l.ask(k, p); err != nil {
				t.Errorf("keybroker %d: %v", i, err)
			}
		}
	}
}
