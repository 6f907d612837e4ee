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

	"github.com/spf13/pflag"

	"github.com/hostedbridge/hostedbridge/internal/keybroker/rotation"
	"github.com/hostedbridge/hostedbridge/internal/masterkey"
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
	format      *output
}

func prepareRotate(o *Options, fs *pflag.FlagSet) runner {
	r := &rotateRequest{}
	fs.BoolVar(&r.dryRun, "dry-run", false, "report the state and the planned changes, but change nothing")
	fs.BoolVar(&r.retire, "retire", false, "only remove the versions that a rotation left")
	fs.BoolVar(&r.onlyWatched, "only-watched", false, "with --retire and --watch-namespaces: confirm that other namespaces, such as one that is no longer watched, have no secret that this ring sealed")
	fs.StringVar(&r.secret, "secret", "hosted-bridge-master-key", "Secret from which the ring is mounted; empty if it has another source")
	fs.DurationVar(&r.timeout, "timeout", time.Hour, "how long to wait in total")
	r.format = outputFlag(fs)
	o.inherit(fs, "namespace", "probe-listen")
	fs.Lookup("probe-listen").Usage = "where replicas serve /ring; only the port counts"
	return func(ctx context.Context, s streams) error {
		if r.timeout <= 0 {
			return fmt.Errorf("--timeout must be more than 0: %w", errUsage)
		}
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
	i, err := connect(ctx, o)
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(o.ProbeListen)
	if err != nil {
		return err // Validate let it pass.
	}
	replicas := rotation.NewReplicas(port, i.pods)
	replicas.Watched = o.WatchNamespaces
	progress := s.out
	if r.format.json() {
		progress = s.err
	}
	rotation := &rotation.Rotation{
		Ring: r.ring(i, o), Replicas: replicas.List, Count: i.count,
		Tell: func(line string) { _, _ = fmt.Fprintln(progress, line) },
	}
	report, err := r.rotate(ctx, rotation)
	if err != nil {
		return err
	}
	return r.format.print(s.out, report, func(w io.Writer) { printRotation(w, &report, r.dryRun) })
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
func (r *rotateRequest) ring(i *installation, o *Options) rotation.Ring {
	transit := o.masterKey(nil)
	switch {
	case transit.Provider == masterkey.ProviderTransit:
		return &rotation.TransitRing{Known: i.ring, Rotate: i.keys.Rotate, Mount: transit.Transit.Mount, Key: transit.Transit.Key}
	case r.secret == "":
		return &rotation.FileRing{Loaded: i.ring}
	default:
		return &rotation.SecretRing{Secrets: i.Cluster, Namespace: o.Namespace, Name: r.secret, Random: rand.Reader}
	}
}

// printRotation prints the whole state of a dry run, and what remains of a
// rotation whose progress stands above.
func printRotation(w io.Writer, r *rotation.Report, dryRun bool) {
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
	line("%s ring: %s", r.Ring.Provider, r.Ring)
	line("envelopes: %s", r.KeyUsage())
	if dryRun {
		for _, replica := range r.Replicas {
			if replica.Ring == nil {
				line("replica %s: %s", replica.Pod, replica.Problem)
				continue
			}
			line("replica %s: %s", replica.Pod, replica.Ring)
		}
	}
	if len(r.Next) == 0 {
		line("nothing remains to be done")
	}
	for _, next := range r.Next {
		line("next: %s", next)
	}
	if r.Instruction != "" {
		line("%s", r.Instruction)
	}
}
