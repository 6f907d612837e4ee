// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package keys has the API keys of users' bridges. rules.go says what a key may be, and how it
// is added to a HostedBridge and removed again: each key has a field manager of its own, so
// that adding and removing one changes no other key and nothing else of the spec. view.go says
// what may be told of keys, and store.go keeps them in the API server.
//
// rules.go and view.go are pure. The form and the hash of a key are in package apikey, since
// publishers and directories have keys too, and package ingress/authn checks the key of a
// request.
package keys

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
)

// managerPrefix begins the field managers of keys.
const managerPrefix = "hosted-bridge-key-"

// Max is how many keys spec.apiKeys may have.
const Max = 32

// The reasons why an act on keys is not done.
var (
	// ErrNoBridge says that the HostedBridge is gone, or was replaced by
	// another one of the same name.
	ErrNoBridge = errors.New("there is no such HostedBridge")
	ErrNoKey    = errors.New("the HostedBridge has no key of that id")
	ErrTooMany  = fmt.Errorf("the HostedBridge has %d keys already", Max)
)

// ManagedError says that another field manager than the key's own holds a key.
type ManagedError struct {
	// By are the field managers that hold the key.
	By []string
}

// Error implements error.
func (e *ManagedError) Error() string {
	return "the key is held by the field managers " + strings.Join(e.By, ", ")
}

// UnsureError says that an act was sent to the API server, and that its result
// is not known, or only in part.
type UnsureError struct {
	// KeyID is the key that the act is about.
	KeyID string
	Err   error
}

// Error implements error.
func (e *UnsureError) Error() string { return e.Err.Error() }

// Unwrap returns what went wrong.
func (e *UnsureError) Unwrap() error { return e.Err }

// Request describes a key to be made.
type Request struct {
	// User is the user of the bridge, to which the key's hash is bound.
	User v1alpha1.UserID
	// Bridge is the HostedBridge that the key is for.
	Bridge types.NamespacedName
	// Name says what the key is for. It may be empty.
	Name string
	// ExpiresAt is when the key stops working; zero means not before it is removed.
	ExpiresAt time.Time
}

// Minted is a new key. Its JSON is read by scripts.
type Minted struct {
	Key  string `json:"key"`
	ID   string `json:"id"`
	Hash string `json:"hash"`
	// FieldManager is the field manager under which Patch must be applied.
	FieldManager string `json:"fieldManager"`
	// Patch is an object for server-side apply by an API client. apiKeys is a
	// list keyed by id, so that applying it under a field manager of its own
	// adds this key and touches no other. kubectl must not apply it: kubectl
	// first makes this manager the owner of all fields of an earlier
	// client-side apply, and so removes those that are not in the patch.
	Patch Patch `json:"patch"`
	// ExpiresAt is zero for a key that does not expire.
	ExpiresAt time.Time `json:"-"`
}

// Patch is the part of a HostedBridge that the manager of a key holds.
type Patch struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec keySpec `json:"spec"`
}

// keySpec is the part of a spec that has the keys.
type keySpec struct {
	APIKeys []v1alpha1.APIKey `json:"apiKeys"`
}

// Mint returns a new key. Its error comes from random or from the request's
// user or name.
func Mint(random io.Reader, r Request) (*Minted, error) {
	if _, err := v1alpha1.ParseUserID(string(r.User)); err != nil {
		return nil, fmt.Errorf("mint key: %w", err)
	}
	if err := CheckName(r.Name); err != nil {
		return nil, err
	}
	key, id, err := apikey.Mint(random, apikey.KindUser)
	if err != nil {
		return nil, fmt.Errorf("mint key: %w", err)
	}
	m := &Minted{Key: key, ID: id, Hash: apikey.HashFor(string(r.User), key).String(), FieldManager: manager(id)}
	entry := v1alpha1.APIKey{ID: id, Hash: m.Hash, Name: r.Name}
	if !r.ExpiresAt.IsZero() {
		m.ExpiresAt = r.ExpiresAt.UTC().Truncate(time.Second)
		entry.ExpiresAt = new(metav1.NewTime(m.ExpiresAt))
	}
	m.Patch = Patch{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "HostedBridge"},
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Bridge.Namespace, Name: r.Bridge.Name},
		Spec:       keySpec{APIKeys: []v1alpha1.APIKey{entry}},
	}
	return m, nil
}

// JSONPatches returns two JSON patches (RFC 6902) that add the key: the first to
// the list, the second if there is no list yet. The API server accepts one of
// them at most, and neither changes another key or another field.
func (m *Minted) JSONPatches() (toList, asList []byte, err error) {
	entry := m.Patch.Spec.APIKeys[0]
	if toList, err = json.Marshal([]operation{{Op: "add", Path: keysPath + "/-", Value: entry}}); err != nil {
		return nil, nil, fmt.Errorf("encode patch: %w", err)
	}
	// A test for null succeeds if the field is missing.
	asList, err = json.Marshal([]operation{
		{Op: "test", Path: keysPath, Value: nil}, {Op: "add", Path: keysPath, Value: []any{entry}},
	})
	if err != nil {
		return nil, nil, fmt.Errorf("encode patch: %w", err)
	}
	return toList, asList, nil
}

// removal returns the JSON patch (RFC 6902) that removes the key at index i of
// b's list. It is refused if another key is there by now.
func removal(b *v1alpha1.HostedBridge, i int) ([]byte, error) {
	entry := fmt.Sprintf("%s/%d", keysPath, i)
	patch, err := json.Marshal([]operation{
		{Op: "test", Path: "/metadata/uid", Value: b.UID},
		{Op: "test", Path: entry + "/id", Value: b.Spec.APIKeys[i].ID},
		{Op: "remove", Path: entry},
	})
	if err != nil {
		return nil, fmt.Errorf("encode patch: %w", err)
	}
	return patch, nil
}

// keysPath is the JSON Pointer to the keys of a HostedBridge.
const keysPath = "/spec/apiKeys"

// operation is an operation of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// manager returns the field manager under which the key of that id is applied.
func manager(id string) string { return managerPrefix + id }

// nameForm is the CRD's rule for a key's name.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9 ._-]{0,61}[A-Za-z0-9])?$`)

var errName = errors.New("a key's name must be 1 to 63 letters, digits, spaces, full stops, underscores or hyphens, beginning and ending with a letter or a digit")

// CheckName returns an error for an invalid name of a key; an empty one is
// valid.
func CheckName(name string) error {
	if name != "" && !nameForm.MatchString(name) {
		return errName
	}
	return nil
}
