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

	"github.com/hostedbridge/hostedbridge/hack/cluster/volumes"
)

// runVolumes makes the volumes of the cluster's default StorageClass.
func runVolumes() {
	kubeconfig := flag.String("kubeconfig", "", "file that says where the API server is")
	folder := flag.String("folder", "", "folder for the volumes")
	node := flag.String("node", "", "name of the node that has the folder")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := volumes.Run(ctx, *kubeconfig, *folder, *node); err != nil {
		fmt.Fprintln(os.Stderr, "volumes:", err)
		os.Exit(1)
	}
}
