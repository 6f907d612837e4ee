// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/pki"
)

// handler is the whole route table.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, routes := range map[string][]route{
		"/v1/certificates": {{
			name: "certificates", method: http.MethodPost, callers: []kind{kindBridge, kindIngress, kindStore, kindBundler},
			mediaType: "application/pkcs10", maxBody: maxCertificateRequest, answer: s.issueCertificate,
		}},
		"/v1/secrets": {{
			name: "secrets", method: http.MethodGet, callers: []kind{kindBridge},
			ending: true, answer: s.openSecrets,
		}},
		"/v1/secrets/{secret}": {{
			name: "save", method: http.MethodPut, callers: []kind{kindBridge},
			ending: true, maxBody: maxLogin, answer: s.saveSecret,
		}},
		"/v1/bridges/{namespace}/{name}/{uid}/secrets": {{
			name: "list", method: http.MethodGet, byCertificate: true,
			answer: s.listSecrets,
		}},
		"/v1/bridges/{namespace}/{name}/{uid}/secrets/{secret}": {{
			name: "set", method: http.MethodPut, byCertificate: true,
			maxBody: envelope.MaxPlaintext, answer: s.setSecret,
		}, {
			name: "remove", method: http.MethodDelete, byCertificate: true,
			answer: s.removeSecret,
		}},
		"/v1/shared/{name}/{uid}/secrets": {{
			name: "shared_list", method: http.MethodGet, byCertificate: true,
			answer: s.listShared,
		}},
		"/v1/shared/{name}/{uid}/secrets/{secret}": {{
			name: "shared_set", method: http.MethodPut, byCertificate: true,
			maxBody: envelope.MaxPlaintext, answer: s.setShared,
		}, {
			name: "shared_remove", method: http.MethodDelete, byCertificate: true,
			answer: s.removeShared,
		}},
		"/v1/login/keys": {{
			name: "login_keys", method: http.MethodGet, byCertificate: true,
			answer: s.loginKeys,
		}},
		"/v1/login/sign": {{
			name: "login_sign", method: http.MethodPost, byCertificate: true,
			mediaType: "application/json", maxBody: oauth.MaxClaims, answer: s.signLogin,
		}},
		"/v1/images/sign": {{
			name: "image_sign", method: http.MethodPost, callers: []kind{kindBundler},
			mediaType: "application/json", maxBody: maxImage, answer: imageSigner{s.authority}.sign,
		}},
		"/": nil,
	} {
		mux.Handle(pattern, &endpoint{routes: routes, server: s})
	}
	return mux
}

// issueCertificate certifies the key of the request for the caller.
func (s *Server) issueCertificate(_ context.Context, c *call) (answer, error) {
	subject := pki.BridgeSubject(string(c.bridge.UID))
	switch c.caller {
	case kindIngress:
		subject = pki.IngressSubject()
	case kindStore:
		subject = pki.StoreSubject()
	case kindBundler:
		subject = pki.BundlerSubject()
	case kindBridge:
	}
	chain, err := s.authority.Issue(s.random, c.body, subject, s.now())
	if errors.Is(err, pki.ErrRequest) {
		return answer{}, fmt.Errorf("%w: %w", errRequest, err)
	}
	if err != nil {
		return answer{}, fmt.Errorf("issue certificate: %w", err)
	}
	s.metrics.issued.WithLabelValues(string(c.caller)).Inc()
	return answer{status: http.StatusOK, mediaType: "application/pem-certificate-chain", body: chain}, nil
}
