#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# ByObject of cache.Options in sigs.k8s.io/controller-runtime v0.25.2 is keyed by pointers, so an entry
# that is meant to replace one of the same type stands beside it. The cache is made without an error and
# uses one of the two, in the order of a Go map: a cache that is to be limited to a namespace watches
# the whole cluster in some runs of the same program, and its controller acts on all of it.
set -euo pipefail

folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOFLAGS=-mod=mod GOTOOLCHAIN=auto
go mod init example.com/twice >/dev/null 2>&1
cat >main.go <<'END_OF_GO'
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func main() {
	asked := make(chan string, 1)
	// It answers nothing: the path of the first request for Pods is what is of interest.
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/pods") {
			select {
			case asked <- r.URL.Path:
			default:
			}
		}
		http.Error(w, "no", http.StatusNotFound)
	}))
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	seen := map[string]bool{}
	for range 64 {
		options := cache.Options{Mapper: mapper, ByObject: map[client.Object]cache.ByObject{&corev1.Pod{}: {}}}
		options.ByObject[&corev1.Pod{}] = cache.ByObject{Namespaces: map[string]cache.Config{"mine": {}}}
		c, err := cache.New(&rest.Config{Host: api.URL}, options)
		if err != nil {
			panic(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- c.Start(ctx) }()
		go func() { _, _ = c.GetInformer(ctx, &corev1.Pod{}) }()
		seen[<-asked] = true
		cancel()
		<-ended
		select {
		case <-asked:
		default:
		}
	}
	fmt.Println("all namespaces:", seen["/api/v1/pods"], "one namespace:", seen["/api/v1/namespaces/mine/pods"])
}
END_OF_GO
go get sigs.k8s.io/controller-runtime@v0.25.2 >/dev/null 2>&1
seen=$(go run . 2>/dev/null)
echo "$seen"
[[ $seen == "all namespaces: true one namespace: true" ]]
