// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/keybroker/installation"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/rotation"
	"github.com/hostedbridge/hostedbridge/internal/masterkey"
	"github.com/hostedbridge/hostedbridge/internal/setting"
)

var rotateCommand = command{
	summary: "replace the master key, and wrap everything under the new version",
	usage: `Replace the master key: add a version, let every replica load it, seal with it,
wait until everything is wrapped under it, and end the use of the older ones.
Run again after it ended anywhere, it goes on from there. It begins no new
rotation before the versions that the last one left behind are removed, which
--retire does.

Usage: keybroker rotate [--dry-run] [--retire] [-o json]

It asks each replica by its pod's address, so it runs inside of the cluster:

  kubectl exec --namespace=hosted-bridge-system deploy/hosted-bridge-keybroker -- /keybroker rotate
`,
	prepare: prepareRotate,
}

// rotateRequest is what is asked of "rotate".
type rotateRequest struct {
	secret  string
	timeout time.Duration
	dryRun  bool
	retire  bool
	// onlyWatched acknowledges that other namespaces have nothing that is sealed.
	onlyWatched bool
	format      string
}

func prepareRotate(o *Options, fs *setting.Set) runner {
	r := &rotateRequest{}
	fs.Bool(&r.dryRun, "dry-run", false, "report the state and the planned changes, but change nothing")
	fs.Bool(&r.retire, "retire", false, "only remove the versions that a rotation left")
	fs.Bool(&r.onlyWatched, "only-watched", false, "with --retire and --watch-namespaces: confirm that other namespaces, such as one that is no longer watched, have no secret that this ring sealed")
	fs.String(&r.secret, "secret", "hosted-bridge-master-key", "Secret from which the ring is mounted; empty if it has another source")
	fs.Duration(&r.timeout, "timeout", time.Hour, "how long to wait in total", setting.Positive)
	fs.OutputFormat(&r.format)
	o.inherit(fs, "namespace", "probe-listen")
	fs.Lookup("probe-listen").Usage = "where replicas serve /ring; only the port counts"
	return func(ctx context.Context, s streams) error {
		if err := r.acknowledged(o, s); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, r.timeout)
		defer cancel()
		return r.run(ctx, o, s)
	}
}

// acknowledged says of which namespaces the envelopes are counted where that is not
// all. What a namespace has that is watched no more would never open again, and
// nothing that may be asked of the API server here tells of it.
func (r *rotateRequest) acknowledged(o *Options, s streams) error {
	if !r.retire || len(o.WatchNamespaces) == 0 {
		return nil
	}
	names := strings.Join(o.WatchNamespaces, ", ")
	_, _ = fmt.Fprintf(s.err, "counted are the envelopes in the namespaces %s, and in no others\n", names)
	if r.dryRun || r.onlyWatched {
		return nil
	}
	return fmt.Errorf("what other namespaces have sealed, such as one that is watched no more, would never open again: give --only-watched if none but %s has anything", names)
}

func (r *rotateRequest) run(ctx context.Context, o *Options, s streams) error {
	i, err := installation.Connect(ctx, o.installation())
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(o.ProbeListen)
	if err != nil {
		return err // Validate let it pass.
	}
	replicas := rotation.NewReplicas(port, i.Pods)
	replicas.Watched = o.WatchNamespaces
	progress := s.out
	if r.format == "json" {
		progress = s.err
	}
	rotation := &rotation.Rotation{
		Ring: r.ring(i, o), Replicas: replicas.List, Count: i.Count,
		Tell: func(line string) { _, _ = fmt.Fprintln(progress, line) },
	}
	report, err := r.rotate(ctx, rotation)
	if err != nil {
		return err
	}
	return printReport(s.out, r.format, report, func(w io.Writer) { report.Print(w, r.dryRun) })
}

func (r *rotateRequest) rotate(ctx context.Context, rotation *rotation.Rotation) (rotation.Report, error) {
	switch {
	case r.dryRun:
		return rotation.Preview(ctx, r.retire)
	case r.retire:
		return rotation.Retire(ctx)
	default:
		return rotation.Run(ctx)
	}
}

// ring returns what is rotated.
func (r *rotateRequest) ring(i *installation.Installation, o *Options) rotation.Ring {
	keys := o.Keys
	switch {
	case keys.Provider == masterkey.ProviderTransit:
		return &rotation.TransitRing{Known: i.Ring, Rotate: i.Keys.Rotate, Mount: keys.Transit.Mount, Key: keys.Transit.Key}
	case r.secret == "":
		return &rotation.FileRing{Loaded: i.Ring}
	default:
		return &rotation.SecretRing{Secrets: i.Cluster, Namespace: o.Namespace, Name: r.secret, Random: rand.Reader}
	}
}
