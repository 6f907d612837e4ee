// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	v1alpha1ac "github.com/hostedbridge/hostedbridge/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
)

const keysUsage = `Mint an API key for a user's bridge.

Usage: ingress keys create --user=alice [--name=alice] [--namespace=default] [--expires=90d] [--output=text|json]

The key is on the first line of the output and nowhere else: only its hash goes
into the HostedBridge. The rest of the output is the command that adds it.

`

// keyRequest is what is asked of "keys create".
type keyRequest struct {
	User      string
	Name      string
	Namespace string
	Expires   string
	Output    string
}

// mintedKey is what "keys create" gives back. Its JSON is read by scripts.
type mintedKey struct {
	Key  string `json:"key"`
	ID   string `json:"id"`
	Hash string `json:"hash"`
	// FieldManager is the field manager under which Patch must be applied.
	FieldManager string `json:"fieldManager"`
	// Patch is an object for server-side apply. apiKeys is a list keyed by
	// id, so that applying it under a field manager of its own adds this key
	// and touches no other; a JSON or merge patch would need to know whether
	// the list exists, or would replace it.
	Patch *v1alpha1ac.HostedBridgeApplyConfiguration `json:"patch"`
}

// runKeys runs "keys create" with the arguments after "keys".
func runKeys(args []string, random io.Reader, now time.Time, stdout, stderr io.Writer) error {
	var k keyRequest
	fs := pflag.NewFlagSet("keys create", pflag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() { _, _ = io.WriteString(stderr, keysUsage+fs.FlagUsages()) }
	fs.StringVar(&k.User, "user", "", "user id that the key is for")
	fs.StringVar(&k.Name, "name", "", "name of the user's HostedBridge (default: the user id)")
	fs.StringVarP(&k.Namespace, "namespace", "n", metav1.NamespaceDefault, "namespace of the user's HostedBridge")
	fs.StringVar(&k.Expires, "expires", "", "how long the key works, such as 90d or 12h (default: until it is removed)")
	fs.StringVarP(&k.Output, "output", "o", "text", "text or json")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() != 1 || fs.Arg(0) != "create" {
		fs.Usage()
		return errors.New("keys has one command: create")
	}
	minted, err := k.mint(random, now)
	if err != nil {
		return err
	}
	if k.Output == "json" {
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(minted)
	}
	return minted.print(stdout)
}

func (k *keyRequest) mint(random io.Reader, now time.Time) (*mintedKey, error) {
	if k.Name == "" {
		k.Name = k.User
	}
	if err := k.validate(); err != nil {
		return nil, err
	}
	lifetime, err := parseLifetime(k.Expires)
	if err != nil {
		return nil, err
	}
	key, id, err := apikey.Mint(random, apikey.KindUser)
	if err != nil {
		return nil, fmt.Errorf("mint key: %w", err)
	}
	hash := apikey.HashOf(key).String()
	entry := v1alpha1ac.APIKey().WithID(id).WithHash(hash)
	if lifetime > 0 {
		entry.WithExpiresAt(metav1.NewTime(now.Add(lifetime).UTC().Truncate(time.Second)))
	}
	return &mintedKey{
		Key: key, ID: id, Hash: hash, FieldManager: "hosted-bridge-key-" + id,
		Patch: v1alpha1ac.HostedBridge(k.Name, k.Namespace).
			WithSpec(v1alpha1ac.HostedBridgeSpec().WithAPIKeys(entry)),
	}, nil
}

func (k *keyRequest) validate() error {
	if _, err := v1alpha1.ParseUserID(k.User); err != nil {
		return fmt.Errorf("--user: %w", err)
	}
	// Both end up in a command that is pasted into a shell.
	if errs := validation.IsDNS1123Subdomain(k.Name); len(errs) > 0 {
		return fmt.Errorf("--name: %s", strings.Join(errs, "; "))
	}
	if errs := validation.IsDNS1123Label(k.Namespace); len(errs) > 0 {
		return fmt.Errorf("--namespace: %s", strings.Join(errs, "; "))
	}
	if k.Output != "text" && k.Output != "json" {
		return fmt.Errorf("--output: %q is neither text nor json", k.Output)
	}
	return nil
}

// parseLifetime reads a duration that may be in days, 0 when there is none.
func parseLifetime(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	lifetime, err := time.ParseDuration(s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n uint64
		// 16 bits are 179 years; a Duration holds 292.
		n, err = strconv.ParseUint(days, 10, 16)
		lifetime = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || lifetime < time.Second {
		return 0, fmt.Errorf("--expires: %q is not a lifetime such as 90d or 12h", s)
	}
	return lifetime, nil
}

func (m *mintedKey) print(w io.Writer) error {
	patch, err := json.Marshal(m.Patch)
	if err != nil {
		return fmt.Errorf("encode patch: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s\n\nkubectl apply --server-side --field-manager=%s -f - <<'EOF'\n%s\nEOF\n", m.Key, m.FieldManager, patch)
	return err
}
