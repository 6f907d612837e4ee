// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kube is every program of a Kubernetes node and control plane in one
// binary: it runs the one that its own name or its first argument says.
//
// The programs share most of their packages, so linking them once takes a
// fifth of the time that five programs take.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
	// What the programs' own mains import for its effect: JSON logs and the
	// metrics of client-go and of the version.
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
)

// programs are the names this binary answers to.
var programs = map[string]func(){
	"containerd":              runContainerd,
	"ctr":                     runCtr,
	"etcd":                    func() { etcdmain.Main(os.Args) },
	"coredns":                 runCoreDNS,
	"kube-apiserver":          func() { run(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() { run(controllermanager.NewControllerManagerCommand()) },
	"kube-scheduler":          func() { run(scheduler.NewSchedulerCommand()) },
	"kube-proxy":              func() { run(proxy.NewProxyCommand()) },
	"kubelet":                 func() { run(kubelet.NewKubeletCommand(context.Background())) },
	"kubectl":                 func() { run(kubectl.NewDefaultKubectlCommand()) },
	"network-policies":        runPolicies,
	"registry":                runRegistry,
	"volumes":                 runVolumes,
}

func main() {
	name := filepath.Base(os.Args[0])
	if _, ok := programs[name]; !ok && len(os.Args) > 1 {
		name = os.Args[1]
		os.Args = os.Args[1:]
	}
	program, ok := programs[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "kube: no program %q; there are %v\n", name, names())
		os.Exit(2)
	}
	program()
}

func run(cmd *cobra.Command) { os.Exit(cli.Run(cmd)) }

func names() []string {
	var all []string
	for name := range programs {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}
