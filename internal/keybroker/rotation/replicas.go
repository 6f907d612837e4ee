// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/hostedbridge/hostedbridge/internal/namespaces"
)

const (
	// maxRing is the size of the largest answer to GET /ring that is read: that
	// of a ring with thousands of versions.
	maxRing = 64 << 10

	// askTimeout is for one replica's answer, which comes from memory.
	askTimeout = 3 * time.Second
)

// Replicas asks the running keybrokers which ring they have loaded.
type Replicas struct {
	// Pods lists the keybrokers' pods, those that have ended too.
	Pods func(ctx context.Context) ([]corev1.Pod, error)
	// Watched are the namespaces whose envelopes are counted. A replica that
	// serves other namespaces may have envelopes that are not counted, and that
	// would never open again once a version is removed.
	Watched namespaces.Set
	// Port is that of /ring, and Client sends the requests.
	Port   string
	Client *http.Client
}

// NewReplicas returns the replicas among these pods. The client uses no proxy:
// a pod's address is reachable only from inside of the cluster.
func NewReplicas(port string, pods func(ctx context.Context) ([]corev1.Pod, error)) *Replicas {
	return &Replicas{Pods: pods, Port: port, Client: &http.Client{
		Timeout:   askTimeout,
		Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("a redirect")
		},
	}}
}

// List asks every replica. It also asks a replica that is not ready, which may
// be ready in a moment with its current ring, and one that is ending, which
// answers as long as it runs.
func (r *Replicas) List(ctx context.Context) ([]Replica, error) {
	pods, err := r.Pods(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the keybrokers' pods: %w", err)
	}
	replicas := []Replica{}
	for i := range pods {
		if !runs(&pods[i]) {
			continue
		}
		replica := Replica{Pod: pods[i].Name}
		ring, err := r.ask(ctx, pods[i].Status.PodIP)
		if err != nil {
			replica.Problem = err.Error()
		} else {
			replica.Ring = &ring
		}
		replicas = append(replicas, replica)
	}
	slices.SortFunc(replicas, func(a, b Replica) int { return strings.Compare(a.Pod, b.Pod) })
	return replicas, ctx.Err()
}

// runs reports whether the pod has a ring, or may have mounted one already. A
// pod that waits for a node will mount the ring as it is then.
func runs(pod *corev1.Pod) bool {
	return pod.Spec.NodeName != "" && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

func (r *Replicas) ask(ctx context.Context, address string) (RingState, error) {
	if address == "" {
		return RingState{}, errors.New("it has no address yet")
	}
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(address, r.Port), Path: "/ring"}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return RingState{}, fmt.Errorf("ask for its ring: %w", err)
	}
	response, err := r.Client.Do(request)
	if err != nil {
		return RingState{}, fmt.Errorf("no answer: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return RingState{}, fmt.Errorf("it answered %s", response.Status)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxRing))
	if err != nil {
		return RingState{}, fmt.Errorf("read its answer: %w", err)
	}
	return r.loadedRing(body)
}

// loadedRing reads a replica's answer.
func (r *Replicas) loadedRing(body []byte) (ring RingState, err error) {
	var looksAfter struct {
		WatchNamespaces namespaces.Set `json:"watchNamespaces"`
	}
	err = errors.Join(json.Unmarshal(body, &ring), json.Unmarshal(body, &looksAfter))
	switch {
	case err == nil && !looksAfter.WatchNamespaces.Equal(r.Watched):
		return RingState{}, fmt.Errorf("it looks after other namespaces than --%s says here", namespaces.Flag)
	case err == nil && ring.archives() && ring.Current == 0:
		return RingState{}, errors.New("it has not reached the transit engine since its start")
	case err != nil || len(ring.Versions) == 0 || ring.Current == 0:
		return RingState{}, errors.New("its answer is not a ring")
	}
	return ring, nil
}
