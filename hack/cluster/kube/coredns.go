// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	// The plugins that the cluster's Corefile names, no others: the full set
	// would link the SDKs of three clouds.
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
)

// runCoreDNS serves the names of the cluster's Services, and asks the machine's
// resolver for others. The order of the directives is the order in which a query
// meets the plugins.
func runCoreDNS() {
	dnsserver.Directives = []string{"bind", "errors", "ready", "cache", "kubernetes", "forward"}
	coremain.Run()
}
