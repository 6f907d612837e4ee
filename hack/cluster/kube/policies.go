// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/hostedbridge/hostedbridge/hack/cluster/policy"
)

// runPolicies enforces NetworkPolicies on the cluster's one node.
func runPolicies() {
	kubeconfig := flag.String("kubeconfig", "", "file that says where the API server is")
	bridge := flag.String("bridge", "", "interface that the pods are connected to")
	listen := flag.String("listen", "", "address on which the CNI plugin announces pods")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := policy.Run(ctx, *kubeconfig, *bridge, *listen); err != nil {
		fmt.Fprintln(os.Stderr, "network-policies:", err)
		os.Exit(1)
	}
}
