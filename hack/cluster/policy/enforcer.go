// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	networkinglisters "k8s.io/client-go/listers/networking/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/knftables"
)

const (
	// retry is after a transaction that the kernel refused.
	retry = time.Second
	// admission bounds how long a new pod waits. kubelet tries again.
	admission = 20 * time.Second
	// look is how often a new pod is looked for that the watch has not brought yet.
	look = 5 * time.Millisecond
)

// Announcement is what the CNI plugin says of a pod before its containers start.
type Announcement struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid,omitempty"`
	Address   string    `json:"address"`
}

// enforcer holds what is known of the cluster.
type enforcer struct {
	nft        knftables.Interface
	bridge     string
	pods       corelisters.PodLister
	namespaces corelisters.NamespaceLister
	policies   networkinglisters.NetworkPolicyLister

	changed chan struct{}
	mu      sync.Mutex
	// addresses are those of announced pods. The API has them a second later.
	addresses map[string]types.UID
	waiting   []chan error
	written   *Rules
}

// Run enforces policies on the pods of bridge until ctx ends, and serves on
// address: POST /pods returns when the rules of the announced pod are written,
// GET /healthz answers 200 once the first ones are.
func Run(ctx context.Context, kubeconfig, bridge, address string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	nft, err := knftables.New(knftables.InetFamily, Table)
	if err != nil {
		return fmt.Errorf("use nft: %w", err)
	}
	e, synced, err := watch(ctx, clients, nft, bridge)
	if err != nil {
		return err
	}
	server := &http.Server{Addr: address, Handler: e.handler(), ReadHeaderTimeout: admission}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), synced...) {
			e.run(ctx)
		}
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// watch starts the watches of everything that the rules depend on.
func watch(
	ctx context.Context, clients kubernetes.Interface, nft knftables.Interface, bridge string,
) (*enforcer, []cache.InformerSynced, error) {
	factory := informers.NewSharedInformerFactory(clients, 0)
	e := &enforcer{
		nft: nft, bridge: bridge,
		pods:       factory.Core().V1().Pods().Lister(),
		namespaces: factory.Core().V1().Namespaces().Lister(),
		policies:   factory.Networking().V1().NetworkPolicies().Lister(),
		changed:    make(chan struct{}, 1), addresses: map[string]types.UID{},
	}
	var synced []cache.InformerSynced
	for _, informer := range []cache.SharedIndexInformer{
		factory.Core().V1().Pods().Informer(),
		factory.Core().V1().Namespaces().Informer(),
		factory.Networking().V1().NetworkPolicies().Informer(),
	} {
		registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { e.touch() },
			UpdateFunc: func(any, any) { e.touch() },
			DeleteFunc: func(any) { e.touch() },
		})
		if err != nil {
			return nil, nil, fmt.Errorf("watch: %w", err)
		}
		synced = append(synced, registration.HasSynced)
	}
	factory.Start(ctx.Done())
	return e, synced, nil
}

// touch has the rules computed again.
func (e *enforcer) touch() {
	select {
	case e.changed <- struct{}{}:
	default: // A change that was not read yet stands for both.
	}
}

func (e *enforcer) run(ctx context.Context) {
	e.touch()
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.changed:
		}
		if err := e.update(ctx); err != nil {
			log.Print(err)
			time.AfterFunc(retry, e.touch)
		}
	}
}

// update writes the rules if they changed, and answers those who wait for them.
func (e *enforcer) update(ctx context.Context) error {
	e.mu.Lock()
	waiting := e.waiting
	e.waiting = nil
	e.mu.Unlock()
	err := e.write(ctx)
	for _, w := range waiting {
		w <- err
	}
	return err
}

func (e *enforcer) write(ctx context.Context) error {
	state, err := e.state()
	if err != nil {
		return err
	}
	rules := Compute(state)
	e.mu.Lock()
	same := e.written != nil && reflect.DeepEqual(*e.written, rules)
	e.mu.Unlock()
	if same {
		return nil
	}
	tx := e.nft.NewTransaction()
	Write(tx, e.bridge, rules)
	if err := e.nft.Run(ctx, tx); err != nil {
		return fmt.Errorf("write the rules: %w", err)
	}
	e.mu.Lock()
	e.written = &rules
	e.mu.Unlock()
	return nil
}

// state reads what the watches have brought.
func (e *enforcer) state() (State, error) {
	pods, err := e.pods.List(labels.Everything())
	if err != nil {
		return State{}, fmt.Errorf("list pods: %w", err)
	}
	namespaces, err := e.namespaces.List(labels.Everything())
	if err != nil {
		return State{}, fmt.Errorf("list namespaces: %w", err)
	}
	policies, err := e.policies.List(labels.Everything())
	if err != nil {
		return State{}, fmt.Errorf("list policies: %w", err)
	}
	return State{Policies: policies, Namespaces: namespaces, Pods: e.addressed(pods)}, nil
}

// addressed returns the pods that have an address. An announced one counts more
// than that of a status, which may be of a pod's earlier start or of an ended
// pod, and is forgotten with its pod.
func (e *enforcer) addressed(pods []*corev1.Pod) []Pod {
	e.mu.Lock()
	defer e.mu.Unlock()
	announced := map[types.UID]string{}
	for address, uid := range e.addresses {
		announced[uid] = address
	}
	var out []Pod
	there, used := map[types.UID]bool{}, map[string]bool{}
	// Of two pods of one address the later one has it.
	pods = slices.SortedFunc(slices.Values(pods), func(a, b *corev1.Pod) int {
		return b.CreationTimestamp.Compare(a.CreationTimestamp.Time)
	})
	for _, p := range slices.DeleteFunc(pods, hasNoAddress) {
		there[p.UID] = true
		address := announced[p.UID]
		if owner, taken := e.addresses[p.Status.PodIP]; address == "" && (!taken || owner == p.UID) {
			address = p.Status.PodIP
		}
		if address != "" && !used[address] {
			used[address] = true
			out = append(out, Pod{Namespace: p.Namespace, Address: address, Labels: p.Labels, Ports: ports(p)})
		}
	}
	maps.DeleteFunc(e.addresses, func(_ string, uid types.UID) bool { return !there[uid] })
	return out
}

// hasNoAddress reports whether a pod has ended, or has the node's address.
func hasNoAddress(p *corev1.Pod) bool {
	return p.Spec.HostNetwork || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

func ports(p *corev1.Pod) (all []corev1.ContainerPort) {
	for _, c := range p.Spec.InitContainers { // Sidecars have ports.
		all = append(all, c.Ports...)
	}
	for _, c := range p.Spec.Containers {
		all = append(all, c.Ports...)
	}
	return all
}

func (e *enforcer) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.written == nil {
			http.Error(w, "no rules are written yet", http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("POST /pods", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), admission)
		defer cancel()
		var a Announcement
		err := json.NewDecoder(r.Body).Decode(&a)
		if err == nil {
			err = e.admit(ctx, a)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	return mux
}

// admit returns when the rules of the announced pod are written.
func (e *enforcer) admit(ctx context.Context, a Announcement) error {
	uid, err := e.await(ctx, a)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	e.mu.Lock()
	for address, of := range e.addresses { // The pod's earlier start.
		if of == uid {
			delete(e.addresses, address)
		}
	}
	e.addresses[a.Address] = uid
	e.waiting = append(e.waiting, done)
	e.mu.Unlock()
	e.touch()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("wait for the rules of pod %s/%s: %w", a.Namespace, a.Name, ctx.Err())
	}
}

// await returns when the watch has brought the pod. kubelet may have it earlier.
func (e *enforcer) await(ctx context.Context, a Announcement) (types.UID, error) {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for {
		p, err := e.pods.Pods(a.Namespace).Get(a.Name)
		if err == nil && (a.UID == "" || a.UID == p.UID) {
			return p.UID, nil
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("wait for pod %s/%s: %w", a.Namespace, a.Name, ctx.Err())
		case <-ticker.C:
		}
	}
}
