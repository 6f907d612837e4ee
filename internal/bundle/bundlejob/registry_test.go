// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundlejob

import (
	"encoding/pem"
	"io"
	"log"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// withRegistry returns the options of w for a registry, which is new if there is none.
func (w *world) withRegistry(t *testing.T, server *httptest.Server, tag, digest string) Options {
	t.Helper()
	o := w.Options
	o.Registry, o.RegistryTag, o.Digest = strings.TrimPrefix(server.URL, "https://")+"/bundles", tag, digest
	o.RegistryCredentials = filepath.Join(t.TempDir(), "config.json")
	o.RegistryCA = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	return o
}

func aRegistry(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewTLSServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true)))
	t.Cleanup(server.Close)
	return server
}

func TestAnInstalledBundleGoesToTheRegistryAndFromThereToAnotherInstallation(t *testing.T) {
	t.Parallel()
	silent, images := slog.New(slog.DiscardHandler), aRegistry(t)
	w := newWorld(t, installed)
	must.Succeed(t, run(t.Context(), &w.Options, silent))
	made := w.outcome(t)
	push := w.withRegistry(t, images, "x-1", string(made.Digest))
	must.Succeed(t, run(t.Context(), &push, silent))
	pushed := w.outcome(t)
	if pushed.Digest != made.Digest || pushed.Image == "" {
		t.Errorf("%+v", pushed)
	}

	other := newWorld(t, nil)
	find := other.withRegistry(t, images, "x-1", "")
	must.Succeed(t, run(t.Context(), &find, silent))
	found := other.outcome(t)
	if found.Digest != made.Digest || found.Image != pushed.Image || found.Bin != "x" {
		t.Errorf("%+v", found)
	}
	must.Succeed(t, must.Value(other.client(t, pki.IngressSubject()).Fetch(t.Context(), found.Digest))(t).Close())
}

func TestWhyTheRegistryHasNoBundleIsAnOutcome(t *testing.T) {
	t.Parallel()
	silent := slog.New(slog.DiscardHandler)
	w := newWorld(t, installed)
	must.Succeed(t, run(t.Context(), &w.Options, silent))
	images := aRegistry(t)
	push := w.withRegistry(t, images, "x-1", string(w.outcome(t).Digest))
	must.Succeed(t, run(t.Context(), &push, silent))
	for name, test := range map[string]struct {
		edit func(o *Options)
		code bundle.Code
		says string
	}{
		"another tag":             {func(o *Options) { o.RegistryTag = "x-2" }, bundle.NotInRegistry, "/bundles has no tag x-2"},
		"another package":         {func(o *Options) { o.Package = "@s/y" }, bundle.RegistryFailed, "is @s/x@1.0.0 for amd64, and not @s/y@1.0.0"},
		"more than it may have":   {func(o *Options) { o.MaxBytes = 10 }, bundle.TooLarge, "the most are 10"},
		"an unknown authority":    {func(o *Options) { o.RegistryCA = "" }, bundle.RegistryFailed, "certificate"},
		"no repository":           {func(o *Options) { o.Registry = "x" }, bundle.RegistryFailed, "is no repository"},
		"a registry that is away": {func(o *Options) { o.Registry = "127.0.0.1:1/bundles" }, bundle.RegistryFailed, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			o := w.withRegistry(t, images, "x-1", "")
			test.edit(&o)
			must.Succeed(t, run(t.Context(), &o, silent))
			if got := w.outcome(t); got.Code != test.code || !strings.Contains(got.Message, test.says) {
				t.Errorf("%+v", got)
			}
		})
	}
}
