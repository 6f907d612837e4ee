// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"encoding/json"
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hostedbridge/hostedbridge/internal/masterkey"
	"github.com/hostedbridge/hostedbridge/internal/namespaces"
)

// WithRing adds to the probes which versions of the master key are loaded here:
// a new one may seal only when every replica can open it. It tells the numbers
// of the versions and nothing of the keys, and whose envelopes are sealed by it.
func WithRing(probes http.Handler, status func() masterkey.Status, watched namespaces.Set) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", probes)
	mux.HandleFunc("GET /ring", func(w http.ResponseWriter, _ *http.Request) {
		body, err := json.Marshal(struct {
			masterkey.Status

			WatchNamespaces namespaces.Set `json:"watchNamespaces,omitempty"`
		}{status(), watched})
		if err != nil {
			http.Error(w, "encode", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write(body)
	})
	return mux
}

// ClientConfig returns how the API server is reached: by the kubeconfig file, or as a pod without one.
func ClientConfig(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("find the API server: %w", err)
	}
	config.UserAgent = "hosted-bridge-keybroker"
	return config, nil
}
