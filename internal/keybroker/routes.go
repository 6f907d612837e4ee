// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/pki"
)

// handler is the whole route table.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, r := range map[string]route{
		"/v1/certificates": {
			name: "certificates", method: http.MethodPost, callers: []kind{kindBridge, kindIngress},
			mediaType: "application/pkcs10", maxBody: maxCertificateRequest, answer: s.issueCertificate,
		},
		"/v1/secrets": {
			name: "secrets", method: http.MethodGet, callers: []kind{kindBridge},
			answer: s.openSecrets,
		},
		"/v1/bridges/{namespace}/{name}/secrets/{secret}": {
			name: "seal", method: http.MethodPut, callers: []kind{kindIngress},
			maxBody: envelope.MaxPlaintext, answer: s.sealSecret,
		},
		"/": {name: routeOther},
	} {
		mux.Handle(pattern, &endpoint{route: r, server: s})
	}
	return mux
}

// issueCertificate certifies the key of the request for the caller.
func (s *Server) issueCertificate(_ context.Context, c call) (answer, error) {
	subject := pki.IngressSubject()
	if c.caller.kind == kindBridge {
		subject = pki.BridgeSubject(string(c.caller.bridge.uid))
	}
	chain, err := s.authority.Issue(s.random, c.body, subject, s.now())
	if errors.Is(err, pki.ErrRequest) {
		return answer{}, fmt.Errorf("%w: %w", errRequest, err)
	}
	if err != nil {
		return answer{}, fmt.Errorf("issue certificate: %w", err)
	}
	s.metrics.issued.WithLabelValues(string(c.caller.kind)).Inc()
	return answer{status: http.StatusOK, mediaType: "application/pem-certificate-chain", body: chain}, nil
}

// openSecrets gives a bridge its own secrets.
func (s *Server) openSecrets(ctx context.Context, c call) (answer, error) {
	opened, err := s.vault.open(ctx, c.caller.bridge)
	if err != nil {
		return answer{}, fmt.Errorf("open secrets: %w", err)
	}
	defer wipe(opened)
	body, err := json.Marshal(struct {
		Secrets map[string][]byte `json:"secrets"` // Byte slices are base64 in JSON.
	}{opened})
	if err != nil {
		return answer{}, errors.New("encode secrets")
	}
	return answer{status: http.StatusOK, mediaType: "application/json", body: body}, nil
}

// secretName is the form of a secret's name, which is also a key of a Secret
// and, for a bridge's servers, often an environment variable.
var secretName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)

// sealSecret stores the body as a secret of the bridge in the path.
func (s *Server) sealSecret(ctx context.Context, c call) (answer, error) {
	defer clear(c.body)
	namespace, name, secret := c.request.PathValue("namespace"), c.request.PathValue("name"), c.request.PathValue("secret")
	if len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 || !secretName.MatchString(secret) {
		return answer{}, errName
	}
	bridge, err := s.callers.cluster.Bridge(ctx, namespace, name)
	if err != nil {
		return answer{}, absent(err, errBridgeNotFound, bridgeKind, namespace, name)
	}
	if bridge.DeletionTimestamp != nil {
		return answer{}, fmt.Errorf("%w: HostedBridge %s/%s is being deleted", errBridgeNotFound, namespace, name)
	}
	if err := s.vault.seal(ctx, bridgeRef{namespace, name, bridge.UID}, secret, c.body); err != nil {
		return answer{}, fmt.Errorf("seal secret: %w", err)
	}
	return answer{status: http.StatusNoContent}, nil
}
