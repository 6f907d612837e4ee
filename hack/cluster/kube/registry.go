// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

// runRegistry is a registry of images, in which the cluster's installations keep bundles. Its blobs
// are in a folder, and its manifests end with it.
func runRegistry() {
	listen := flag.String("listen", "", "address to listen on")
	folder := flag.String("folder", "", "folder for the blobs")
	certificate := flag.String("certificate", "", "file with the certificate")
	key := flag.String("key", "", "file with the key")
	flag.Parse()
	server := &http.Server{
		Addr: *listen, ReadHeaderTimeout: 10 * time.Second,
		Handler: registry.New(registry.WithBlobHandler(registry.NewDiskBlobHandler(*folder)), registry.WithReferrersSupport(true),
			registry.Logger(log.New(os.Stdout, "", log.LstdFlags))),
	}
	if err := server.ListenAndServeTLS(*certificate, *key); err != nil {
		fmt.Fprintln(os.Stderr, "registry:", err)
		os.Exit(1)
	}
}
