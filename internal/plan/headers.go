// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridge/config"
	"github.com/hostedbridge/hostedbridge/internal/bridge/template"
)

// errControl is about what the API lets pass, and what could end a header and
// begin another.
var errControl = errors.New("it holds a line break or another control character")

// headersAreReadable is the check that a header names its secrets as the
// bridge reads them, and only such as its server is granted.
func headersAreReadable(o Observed) Finding {
	for i, server := range o.Bridge.Spec.Servers {
		seen := map[string]string{}
		for j, header := range server.Transport.Headers {
			field := fmt.Sprintf("spec.servers[%d].transport.headers[%d]", i, j)
			if other, ok := seen[strings.ToLower(header.Name)]; ok {
				return Finding{v1alpha1.ReasonInvalidHeader, fmt.Sprintf(
					"%s.name: %s of server %s is the same header as %s, since case makes no difference in HTTP; it must be a header that the server does not have yet",
					field, header.Name, server.Name, other)}
			}
			seen[strings.ToLower(header.Name)] = header.Name
			if f := headerIsReadable(server, header, field); f != (Finding{}) {
				return f
			}
		}
	}
	return Finding{}
}

// headerIsReadable never quotes the value: somebody may have put there what
// belongs into a secret.
func headerIsReadable(server v1alpha1.Server, header v1alpha1.Header, field string) Finding {
	t, err := template.Parse(header.Value)
	if strings.ContainsFunc(header.Value, isControl) {
		err = errControl
	}
	if err != nil {
		return Finding{v1alpha1.ReasonInvalidHeader, fmt.Sprintf(
			"%s.value: header %s of server %s cannot be read: %v; it must be text in which ${NAME} or ${NAME:-text} names a secret and $$ is a dollar sign",
			field, header.Name, server.Name, err)}
	}
	for _, name := range t.Names() {
		if !slices.Contains(server.Secrets, v1alpha1.SecretName(name)) {
			return Finding{v1alpha1.ReasonSecretNotGranted, fmt.Sprintf(
				"%s.value: header %s of server %s names the secret %s, which the server may not use; it must be one of the server's spec.servers[].secrets, so add it there",
				field, header.Name, server.Name, name)}
		}
	}
	return Finding{}
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// Upstream returns what the bridge is told of a server. The names of its
// secrets are a set, so that one that is only written in another order rolls no
// pod.
func Upstream(server v1alpha1.Server) config.Server {
	s := config.Server{Name: server.Name, URL: server.Transport.URL}
	for _, h := range server.Transport.Headers {
		s.Headers = append(s.Headers, config.Header{Name: h.Name, Value: h.Value})
	}
	for _, name := range server.Secrets {
		s.Secrets = append(s.Secrets, string(name))
	}
	slices.Sort(s.Secrets)
	return s
}
