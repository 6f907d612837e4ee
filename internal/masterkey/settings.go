// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package masterkey

import (
	"errors"
	"fmt"

	"github.com/hostedbridge/hostedbridge/internal/setting"
)

// serviceAccountToken is where Kubernetes puts the token of a pod's ServiceAccount.
const serviceAccountToken = "/var/run/secrets/kubernetes.io/serviceaccount/token"

// Declare declares the settings of the master key.
func (o *Options) Declare(s *setting.Set) {
	s.String(&o.Dir, "master-key-dir", "/etc/hosted-bridge/master-key", "directory with the ring of the master key: a file for each version, named by it, and one named authority, with the base64 of 32 bytes each", setting.Required)
	s.String(&o.Provider, "key-provider", ProviderLocal, "what seals secrets: local, the ring, or transit, an engine of HashiCorp Vault or OpenBao", setting.OneOf(ProviderLocal, ProviderTransit))
	t := &o.Transit
	s.String(&t.Address, "vault-address", "", "address of HashiCorp Vault or OpenBao, such as https://vault.example:8200; with --key-provider=local what transit sealed before is opened by it")
	s.Bool(&t.Insecure, "vault-insecure", false, "allow an http:// address, although data keys then pass unencrypted")
	s.String(&t.Mount, "vault-mount", defaultMount, "path of the transit engine")
	s.String(&t.Key, "vault-key", "hosted-bridge", "name of the transit key, of type aes256-gcm96 and derived")
	s.String(&t.Namespace, "vault-namespace", "", "namespace of Vault Enterprise or OpenBao")
	s.String(&t.CAFile, "vault-ca-file", "", "PEM file with the authorities of the server's certificate (default: the system's)")
	s.String(&t.TokenFile, "vault-token-file", "", "file with a token, read again for each call; without it, the keybroker logs in with --vault-role")
	s.String(&t.Role, "vault-role", "", "role of the Kubernetes auth method")
	s.String(&t.AuthMount, "vault-auth-mount", defaultAuthMount, "path of the Kubernetes auth method")
	s.Check(o.checkTransit)
}

func (o *Options) checkTransit() error {
	if o.Transit.Role != "" {
		o.Transit.JWTFile = serviceAccountToken
	}
	if o.Transit.Address == "" {
		if o.Provider == ProviderTransit {
			return errors.New("--vault-address: the value is empty; give the address of the engine with --key-provider=transit")
		}
		return nil
	}
	if err := o.Transit.Validate(); err != nil {
		return fmt.Errorf("the flags that begin with --vault cannot be used: %w", err)
	}
	return nil
}
