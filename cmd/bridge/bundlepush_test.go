// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/bundle/bundleimage"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// pack makes a bundle of a folder, and the record of @s/x@1.0.0 beside it: pack FOLDER FILE.
func pack(ts *testscript.TestScript, _ bool, args []string) {
	file, err := os.Create(ts.MkAbs(args[1]))
	ts.Check(err)
	defer file.Close()
	result, err := bundle.Pack(ts.MkAbs(args[0]), file, bundle.Limits{})
	ts.Check(err)
	size, err := file.Seek(0, io.SeekCurrent)
	ts.Check(err)
	text, err := bundle.Record{
		Source: bundle.Source{Method: "npx", Package: "@s/x", Version: "1.0.0", Architecture: "amd64", Runtime: "bridge"},
		Digest: result.Digest, Size: result.Size, CompressedSize: size, Made: time.Unix(1, 0), Bins: map[string]string{"x": "x.js"},
	}.Encode()
	ts.Check(err)
	ts.Check(os.WriteFile(file.Name()+".json", text, 0o600))
}

// serveRegistry starts a registry over TLS, puts its address into REGISTRY, writes its certificate, and
// appends each request to a file: serve CERTIFICATE LOG. Below /v2/closed it wants the credentials
// me:secret, below /v2/none it has no repository.
func serveRegistry(ts *testscript.TestScript, _ bool, args []string) {
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true))
	requests, err := os.Create(ts.MkAbs(args[1]))
	ts.Check(err)
	seen := log.New(requests, "", 0)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Println(r.Method, r.URL.Path)
		name, password, _ := r.BasicAuth()
		switch {
		case strings.HasPrefix(r.URL.Path, "/v2/none"):
			w.WriteHeader(http.StatusNotFound)
		case strings.HasPrefix(r.URL.Path, "/v2/closed") && (name != "me" || password != "secret"):
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
		default:
			handler.ServeHTTP(w, r)
		}
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	ts.Defer(func() { server.Close(); _ = requests.Close() })
	ts.Setenv("REGISTRY", strings.TrimPrefix(server.URL, "https://"))
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), authority, 0o600))
}

// find compares a file with the bundle that a repository has, as an installation finds it: find
// REPOSITORY TAG FILE CERTIFICATE.
func find(ts *testscript.TestScript, _ bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), wait.Limit)
	defer cancel()
	repository, err := bundleimage.Open(bundleimage.Config{
		Name: args[0], Credentials: filepath.Join(ts.Getenv("WORK"), "no-credentials"), Authorities: ts.ReadFile(args[3]),
	})
	ts.Check(err)
	found, err := repository.Find(ctx, args[1])
	ts.Check(err)
	content, err := repository.Fetch(ctx, found)
	ts.Check(err)
	defer content.Close()
	text, err := io.ReadAll(content)
	ts.Check(err)
	if string(text) != ts.ReadFile(args[2]) {
		ts.Fatalf("the registry has %d other bytes", len(text))
	}
}
