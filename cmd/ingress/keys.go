// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/userkey"
)

const keysUsage = `Mint an API key for a user's bridge.

Usage: ingress keys create --user=alice [--name=alice] [--namespace=default] [--expires=90d] [--label=laptop] [--output=text|json]

The key is on the first line of the output and nowhere else: only its hash goes
into the HostedBridge. The rest of the output is the command that adds it. The
hash is bound to the user: it opens no other user's bridge.

`

// keyRequest is what is asked of "keys create".
type keyRequest struct {
	User      string
	Name      string
	Namespace string
	Expires   string
	Label     string
	Output    string
}

// runKeys runs "keys create" with the arguments after "keys".
func runKeys(args []string, random io.Reader, now time.Time, stdout, stderr io.Writer) error {
	var k keyRequest
	fs := pflag.NewFlagSet("keys create", pflag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() { _, _ = io.WriteString(stderr, keysUsage+fs.FlagUsages()) }
	k.register(fs)
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
		return jsondoc.Print(stdout, minted)
	}
	return printKey(stdout, minted)
}

// register adds the flags to fs.
func (k *keyRequest) register(fs *pflag.FlagSet) {
	fs.StringVar(&k.User, "user", "", "user id of the key")
	fs.StringVar(&k.Name, "name", "", "name of the user's HostedBridge (default: the user id)")
	fs.StringVarP(&k.Namespace, "namespace", "n", metav1.NamespaceDefault, "namespace of the user's HostedBridge")
	fs.StringVar(&k.Expires, "expires", "", "how long the key works, such as 90d or 12h (default: until it is removed)")
	fs.StringVar(&k.Label, "label", "", "purpose of the key, such as laptop; it becomes the key's name in the HostedBridge")
	fs.StringVarP(&k.Output, "output", "o", "text", "text or json")
}

func (k *keyRequest) mint(random io.Reader, now time.Time) (*userkey.Minted, error) {
	if k.Name == "" {
		k.Name = k.User
	}
	if err := k.validate(); err != nil {
		return nil, err
	}
	lifetime, err := userkey.ParseLifetime(k.Expires)
	if err != nil {
		return nil, fmt.Errorf("--expires: %w", err)
	}
	return userkey.Mint(random, userkey.Request{
		User: v1alpha1.UserID(k.User), Bridge: types.NamespacedName{Namespace: k.Namespace, Name: k.Name}, Name: k.Label,
		ExpiresAt: userkey.Expiry(now, lifetime),
	})
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
	if err := userkey.CheckName(k.Label); err != nil {
		return fmt.Errorf("--label: %w", err)
	}
	if k.Output != "text" && k.Output != "json" {
		return fmt.Errorf("--output: %q is neither text nor json", k.Output)
	}
	return nil
}

// printKey prints the key and the command that adds it. The command is a JSON
// patch, which changes nothing else whatever applied the object before. The
// patch that makes the list comes first: its error says only that there is a list,
// while the error of the other one says why a key cannot be added.
func printKey(w io.Writer, m *userkey.Minted) error {
	toList, asList, err := m.JSONPatches()
	if err != nil {
		return err
	}
	patch := fmt.Sprintf("kubectl patch hostedbridges.hostedbridge.dev %s --namespace=%s --type=json --field-manager=%s", *m.Patch.Name, *m.Patch.Namespace, m.FieldManager)
	_, err = fmt.Fprintf(w, `%s

# Makes the list with this key, or adds the key to the list that is there.
%s \
    --patch='%s' 2>/dev/null ||
%s \
    --patch='%s'
# Leave spec.apiKeys out of manifests, or add the key there too: kubectl apply
# and kubectl replace put the manifest's list in place of this one.
`, m.Key, patch, asList, patch, toList)
	return err
}
