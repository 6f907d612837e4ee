// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/setting"
)

const commandUsage = `Mint an API key for a user's bridge.

Usage: ingress keys create --user=alice [--name=alice] [--namespace=default] [--expires=90d] [--label=laptop] [--output=text|json]

The key is on the first line of the output and nowhere else: only its hash goes
into the HostedBridge. The rest of the output is the command that adds it. The
hash is bound to the user: it opens no other user's bridge.

`

// Command is what is asked of "ingress keys create".
type Command struct {
	User, Name, Namespace string
	Expires, Label        string
	Output                string
}

// Declare declares the settings.
func (k *Command) Declare() *setting.Set {
	s := setting.New("ingress keys create", commandUsage)
	s.String(&k.User, "user", "", "user id of the key", func(value string) error {
		_, err := v1alpha1.ParseUserID(value)
		return err
	})
	// Name and namespace end up in a command that is pasted into a shell.
	s.String(&k.Name, "name", "", "name of the user's HostedBridge (default: the user id)", setting.Optional(objectName))
	s.StringVarP(&k.Namespace, "namespace", "n", metav1.NamespaceDefault, "namespace of the user's HostedBridge")
	s.Check(func() error {
		if err := setting.Label(k.Namespace); err != nil {
			return fmt.Errorf("--namespace: %w", err)
		}
		return nil
	})
	s.String(&k.Expires, "expires", "", "how long the key works, such as 90d or 12h (default: until it is removed)", func(value string) error {
		_, err := apikey.ParseLifetime(value)
		return err
	})
	s.String(&k.Label, "label", "", "purpose of the key, such as laptop; it becomes the key's name in the HostedBridge", CheckName)
	s.OutputFormat(&k.Output)
	return s
}

func objectName(value string) error {
	if errs := validation.IsDNS1123Subdomain(value); len(errs) > 0 {
		return errors.New(strings.Join(errs, "; "))
	}
	return nil
}

// Create runs "ingress keys create" with the arguments after "keys".
func Create(args []string, random io.Reader, now time.Time, stdout, stderr io.Writer) error {
	var k Command
	s := k.Declare()
	s.SetOutput(stderr)
	if err := s.ParseWords(args); err != nil {
		return err
	}
	if s.NArg() != 1 || s.Arg(0) != "create" {
		s.Usage()
		return errors.New("keys has one command: create")
	}
	if err := s.Validate(); err != nil {
		return err
	}
	minted, err := k.Mint(random, now)
	if err != nil {
		return err
	}
	if k.Output == "json" {
		return jsondoc.Print(stdout, minted)
	}
	return printKey(stdout, minted)
}

// Mint makes the key.
func (k *Command) Mint(random io.Reader, now time.Time) (*Minted, error) {
	lifetime, err := apikey.ParseLifetime(k.Expires)
	if err != nil {
		return nil, fmt.Errorf("--expires: %w", err)
	}
	return Mint(random, Request{
		User: v1alpha1.UserID(k.User), Bridge: types.NamespacedName{Namespace: k.Namespace, Name: cmp.Or(k.Name, k.User)}, Name: k.Label,
		ExpiresAt: apikey.Expiry(now, lifetime),
	})
}

// printKey prints the key and the command that adds it. The command is a JSON
// patch, which changes nothing else whatever applied the object before. The
// patch that makes the list comes first: its error says only that the list exists,
// while the error of the other one says why a key cannot be added.
func printKey(w io.Writer, m *Minted) error {
	toList, asList, err := m.JSONPatches()
	if err != nil {
		return err
	}
	patch := fmt.Sprintf("kubectl patch hostedbridges.hostedbridge.dev %s --namespace=%s --type=json --field-manager=%s", m.Patch.Name, m.Patch.Namespace, m.FieldManager)
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
