// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package e2e drives an installation on a real cluster from outside, with MCP
// clients that are not ours. It is told where by the environment:
//
//	HB_URL             where the ingress answers, such as http://127.0.0.1:8080
//	HB_KUBECONFIG      an administrator's kubeconfig of the cluster
//	KUBECTL            the kubectl to run; "kubectl" where it is not set
//	HB_UPSTREAM_IMAGE  the everything server's image, where it is not in the
//	                   cluster under its own name
//	HB_GUARDED_IMAGE   likewise the guarded server's
//	HB_SERVERS_IMAGE   likewise that of the servers of npm
//	HB_LOGIN           the folder of hack/test/login.sh, by which the
//	                   installation was told of an identity provider
//	CHROMIUM           the browser to run, where it is not one on PATH
//
// Each run makes a namespace and tenants of its own, with names that no other
// run has, and removes them. Tests that end the installation's own processes, or
// measure what it promises of time, run one after the other; then those that only
// touch tenants of their own run side by side.
package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"
)

// setupTimeout bounds what comes before the first test: a namespace and one
// pod. cleanupTimeout bounds what comes after the last.
const (
	setupTimeout   = 2 * time.Minute
	cleanupTimeout = time.Minute
)

// installed is the installation under test; TestMain sets it.
var installed *installation

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	i, err := fromEnvironment()
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	installed = i
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
		defer cancel()
		if err := i.removeNamespace(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "e2e: clean up:", err)
		}
	}()
	if err := i.makeNamespace(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "e2e: set up:", err)
		return 1
	}
	return m.Run()
}
