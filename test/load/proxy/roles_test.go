// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench

package proxy

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/management"

	"github.com/hostedbridge/hostedbridge/internal/ingress/bridgeclient"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/audit/sink"
	"github.com/hostedbridge/hostedbridge/internal/catalog/usage"
	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/ingress"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/internal/quota/quotastore"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// tiers has one tier, which counts everything and refuses nothing.
var tiers = quota.Tiers{"load": {
	PerMinute: 1 << 30, PerHour: 1 << 30, PerDay: 1 << 30, Burst: 1 << 30, ConcurrentCalls: 1024, Streams: 1024, AuditDays: 1,
}}

// users is how many there are, so that no limit of a single one is met.
const users = 8

// serveBackend is what stands for all bridges: net/http, as in a bridge, behind
// TLS 1.3 with certificates on both sides, giving back what it is sent.
func serveBackend(dir, listen string) error {
	certificate, roots, err := loadTLS(dir, "server")
	if err != nil {
		return err
	}
	server := &http.Server{
		Addr: listen, ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"}, Certificates: []tls.Certificate{certificate},
			ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: roots,
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(body)
		}),
	}
	return server.ListenAndServeTLS("", "")
}

// serveIngress is cmd/ingress but for what it watches: its users are made here.
// It writes their keys into dir.
func serveIngress(dir, listen, backend string) error {
	_, port, err := net.SplitHostPort(backend)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	credentials, err := newCredentials(dir)
	if err != nil {
		return err
	}
	table, keys, err := usersTable(backend)
	if err != nil {
		return err
	}
	deps, err := dependencies(dir, table)
	if err != nil {
		return err
	}
	deps.Bridges = bridgeclient.New(credentials, n)
	s, err := ingress.New(ingress.Config{
		Wait: 30 * time.Second, MaxHeldPerUser: 32, MaxHeld: 1024, MaxBodyMemory: 128 << 20, LegacySSE: true,
	}, deps)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "keys"), []byte(strings.Join(keys, "\n")), 0o600); err != nil {
		return err
	}
	server := s.HTTPServer()
	server.Addr = listen
	return server.ListenAndServe()
}

// dependencies are those of an installation as it is shipped, with audit trail
// and access log in files of dir.
func dependencies(dir string, table *route.Table) (ingress.Deps, error) {
	hasher, err := audit.NewHasher([]byte("the benchmark's own key"))
	if err != nil {
		return ingress.Deps{}, err
	}
	trail, err := sink.Open(sink.Config{Path: filepath.Join(dir, "audit.log"), MaxBytes: 100 << 20, MaxAge: 24 * time.Hour, MaxFiles: 1}, io.Discard)
	if err != nil {
		return ingress.Deps{}, err
	}
	access, err := os.OpenFile(filepath.Join(dir, "access.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return ingress.Deps{}, err
	}
	log, metrics := slog.New(slog.NewJSONHandler(access, nil)), prometheus.NewRegistry()
	quotas, err := quotastore.New(quotastore.Options{Replicas: 1, Clock: clock.System{}, Metrics: metrics, Log: log})
	if err != nil {
		return ingress.Deps{}, err
	}
	routes := fixedRoutes{table, make(chan struct{})}
	return ingress.Deps{
		Routes: routes, Activity: noActivity{},
		AdminKey: func() []byte { return nil },
		Features: []httpapi.Feature{management.Health(noReports{}, nil), management.Secrets(noSecrets{}), management.Admin(management.AdminOptions{
			Routes: routes, AuditIndex: management.NoAuditIndex{},
			Inventory: func(context.Context) (usage.Inventory, error) { return usage.Inventory{}, nil },
		})},
		Audit: trail, Hasher: hasher, Quotas: quotas, Tiers: func() quota.Tiers { return tiers },
		Metrics: metrics, Log: log,
	}, nil
}

// usersTable returns a table in which each user's bridge is the backend.
func usersTable(backend string) (*route.Table, []string, error) {
	host, _, err := net.SplitHostPort(backend)
	if err != nil {
		return nil, nil, err
	}
	var keys []string
	var bridges []*v1alpha1.HostedBridge
	var pods []*corev1.Pod
	for i := range users {
		key, id, err := apikey.Mint(rand.Reader, apikey.KindUser)
		if err != nil {
			return nil, nil, err
		}
		keys = append(keys, key)
		user := "user" + strconv.Itoa(i)
		b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: "tenants", Name: user, UID: bridgeUID}}
		b.Spec.APIKeys = []v1alpha1.APIKey{{ID: id, Hash: apikey.HashFor(user, key).String()}}
		b.Spec.Tier = "load"
		bridges = append(bridges, b)
		pods = append(pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "tenants", Name: user + "-1", UID: types.UID(user + "-1"),
				Labels:      map[string]string{v1alpha1.LabelName: v1alpha1.NameValue, v1alpha1.LabelComponent: v1alpha1.ComponentBridge},
				Annotations: map[string]string{v1alpha1.AnnotationBridgeUID: bridgeUID, v1alpha1.AnnotationUserID: user},
			},
			Status: corev1.PodStatus{
				Phase: corev1.PodRunning, PodIP: host, PodIPs: []corev1.PodIP{{IP: host}},
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			},
		})
	}
	return route.Build(bridges, pods), keys, nil
}

// credentials are a client certificate and whom it trusts.
type credentials struct {
	certificate tls.Certificate
	roots       *x509.CertPool
}

func newCredentials(dir string) (*credentials, error) {
	certificate, roots, err := loadTLS(dir, "client")
	return &credentials{certificate, roots}, err
}

// ClientTLS implements bridgeclient.Credentials.
func (c *credentials) ClientTLS(server *url.URL) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{c.certificate},
		InsecureSkipVerify: true, // VerifyConnection checks the chain and the URI.
		VerifyConnection:   pki.VerifyPeer(c.roots, server, x509.ExtKeyUsageServerAuth, time.Now),
	}
}

// What a call hardly comes to, or not at all, and then would panic.
type (
	fixedRoutes struct {
		table   *route.Table
		changed chan struct{}
	}
	noReports  struct{ management.Reports }
	noActivity struct{ ingress.Activity }
	noSecrets  struct{ management.UserSecrets }
)

func (f fixedRoutes) Current() *route.Table    { return f.table }
func (f fixedRoutes) Changed() <-chan struct{} { return f.changed }

func (noActivity) Called(route.Backend, time.Time) {}
func (noActivity) Began(route.Backend, time.Time)  {}
func (noActivity) Ended(route.Backend, time.Time)  {}

func (noActivity) KeyUsed(route.Backend, string, time.Time) {}

// serve is a child process's part.
func serve(role, dir, listen, backend string) error {
	switch role {
	case "backend":
		return serveBackend(dir, listen)
	case "ingress":
		return serveIngress(dir, listen, backend)
	}
	return fmt.Errorf("role %q is none", role)
}
