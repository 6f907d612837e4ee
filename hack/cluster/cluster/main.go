// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cluster runs a real Kubernetes on one Linux machine, without a
// container engine and without downloading a binary: the Kubernetes programs
// and containerd are built from Go modules, the containers are run by Debian's
// runc.
//
// A cluster lives in namespaces of its own (processes, mounts, network), so
// that ending one process ends all of it, and two clusters cannot meet. From
// outside it is reached on two ports of 127.0.0.1.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

type verb struct {
	name, usage string
	run         func(ctx context.Context, args []string) error
}

// verbs are what the command can do, in the order of the usage text.
var verbs = []verb{
	{"build", "build the Kubernetes programs [--print-assets: print their folder]", runBuild},
	{"up", "start a cluster and wait until its node is Ready [--name N] [--port P] [--enforce=false] --pause FILE", runUp},
	{"down", "end a cluster and remove its folder [--name N]", runDown},
	{"load", "load image archives into a cluster [--name N] FILE...", runLoad},
	{"exec", "run a command in the network of a cluster's node [--name N] COMMAND...", runExec},
	{"kubeconfig", "print the path of a cluster's kubeconfig [--name N]", runKubeconfig},
	{"status", "say which clusters there are and whether they run", runStatus},
}

func main() {
	if filepath.Base(os.Args[0]) == policyPlugin {
		os.Exit(plugin{os.Getenv, os.Stdin, os.Stdout, "http://" + policyListen}.run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := errors.Join(useAdministratorsPath(), dispatch(ctx, os.Args[1:])); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func dispatch(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == nodeVerb {
		return runNode(ctx, args[1:])
	}
	for _, v := range verbs {
		if len(args) > 0 && v.name == args[0] {
			return v.run(ctx, args[1:])
		}
	}
	for _, v := range verbs {
		fmt.Fprintf(os.Stderr, "  cluster %-11s %s\n", v.name, v.usage)
	}
	return errors.New("name one of the verbs above")
}
