// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bytes"
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/keybroker/client"
)

// aliceRef is alice's bridge in every world.
var aliceRef = client.Ref{Namespace: "tenants", Name: "alice", UID: "uid-alice"}

// secretNames is written otherwise than the expression that it checks.
var secretNames = regexp.MustCompile(`^([A-Z][A-Z0-9_]*|[\w-]+(\.[\w-]+)+)$`)

// setAt is when a fakeSecrets sets everything.
var setAt = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// asked is one call of a fakeSecrets.
type asked struct {
	method string
	of     client.Ref
	name   string
	value  string
}

// fakeSecrets is a keybroker without sealing and with a limit of two.
type fakeSecrets struct {
	mu     sync.Mutex
	values map[client.Ref]map[string]string
	asked  []asked
	// fail, where it is set, answers the n-th call from one on instead.
	fail func(ctx context.Context, n int) error
	// buffers are the values as they were handed over.
	buffers [][]byte
}

func newFakeSecrets() *fakeSecrets {
	return &fakeSecrets{values: map[client.Ref]map[string]string{}}
}

// failWith has every call fail with err; nil ends that.
func (f *fakeSecrets) failWith(err error) {
	f.failBy(func(context.Context, int) error { return err })
}

func (f *fakeSecrets) failBy(fail func(ctx context.Context, n int) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail, f.asked = fail, nil
}

func (f *fakeSecrets) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked, f.values, f.buffers = nil, map[client.Ref]map[string]string{}, nil
}

// calls returns what was asked since the last failBy.
func (f *fakeSecrets) calls() []asked {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.asked)
}

func (f *fakeSecrets) note(ctx context.Context, a asked) error {
	f.mu.Lock()
	f.asked = append(f.asked, a)
	n, fail := len(f.asked), f.fail
	f.mu.Unlock()
	if fail == nil {
		return nil
	}
	return fail(ctx, n)
}

// List implements UserSecrets.
func (f *fakeSecrets) List(ctx context.Context, of client.Ref) (client.SecretList, error) {
	if err := f.note(ctx, asked{method: "List", of: of}); err != nil {
		return client.SecretList{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	limit := 2
	list := client.SecretList{Secrets: []client.SecretInfo{}, Limit: &limit}
	for name, value := range f.values[of] {
		list.Secrets = append(list.Secrets, infoOf(name, value))
	}
	slices.SortFunc(list.Secrets, func(a, b client.SecretInfo) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func infoOf(name, value string) client.SecretInfo {
	info := client.SecretInfo{Name: name, Size: len(value), Created: setAt, Updated: setAt.Add(time.Minute), KeyVersion: 1}
	if value == "managed" {
		info.Source = "gitops"
	}
	return info
}

// Put implements UserSecrets.
func (f *fakeSecrets) Put(ctx context.Context, of client.Ref, name string, value []byte) (client.SecretInfo, bool, error) {
	f.mu.Lock()
	f.buffers = append(f.buffers, value)
	f.mu.Unlock()
	if err := f.note(ctx, asked{"Put", of, name, string(bytes.Clone(value))}); err != nil {
		return client.SecretInfo{}, false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.values[of] == nil {
		f.values[of] = map[string]string{}
	}
	former, replaced := f.values[of][name]
	switch {
	case former == "managed":
		return client.SecretInfo{}, false, &client.Refusal{Status: http.StatusConflict, Code: "secret_managed", Detail: "Change the Secret gitops."}
	case !replaced && len(f.values[of]) == 2:
		return client.SecretInfo{}, false, &client.Refusal{Status: http.StatusConflict, Code: "secret_limit_reached", Detail: "The tier free allows 2 secrets."}
	}
	f.values[of][name] = string(value)
	return infoOf(name, string(value)), !replaced, nil
}

// Delete implements UserSecrets.
func (f *fakeSecrets) Delete(ctx context.Context, of client.Ref, name string) error {
	if err := f.note(ctx, asked{method: "Delete", of: of, name: name}); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	value, ok := f.values[of][name]
	switch {
	case !ok:
		return &client.Refusal{Status: http.StatusNotFound, Code: "secret_not_found"}
	case value == "managed":
		return &client.Refusal{Status: http.StatusConflict, Code: "secret_managed", Detail: "Change the Secret gitops."}
	}
	delete(f.values[of], name)
	return nil
}
